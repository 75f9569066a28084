"""docker and its kin: looking is accepted, touching is not."""

import pytest

from midwatch.safety.shell.classify import classify

READS = [
    "docker ps",
    "docker ps -a --format '{{.Names}} {{.Status}}'",
    "docker ps -aq -f status=exited -n 5",
    "docker container ls --all --no-trunc",
    "docker images --digests nginx",
    "docker image ls -q",
    "docker image history --no-trunc nginx:1.27",
    "docker inspect web --format '{{json .State}}'",
    "docker inspect -f '{{.RestartCount}}' web db",
    "docker logs --tail 100 web",
    "docker logs -n 50 --since 10m -t web",
    "docker stats --no-stream",
    "docker top web -eo pid,cmd",
    "docker port web 80",
    "docker diff web",
    "docker version",
    "docker info --format '{{.Driver}}'",
    "docker events --since 1h --until 0s",
    "docker system df -v",
    "docker network ls",
    "docker network inspect bridge",
    "docker volume ls -f dangling=true",
    "docker compose ps -a",
    "docker compose -p shop logs --tail=100 api",
    "docker compose ls",
    "docker service ls",
    "docker service logs --tail 20 api",
    "docker node ps self",
    "docker exec web ps aux",
    "docker exec -u nobody web cat /var/log/app.log",
    "podman ps --all",
    "podman pod ps",
    "nerdctl -n k8s.io ps",
    "crictl ps -a",
    "crictl pods --name web",
    "crictl logs --tail 50 abc",
    "crictl inspectp abc -o json",
    "ctr -n k8s.io containers ls",
    "docker-compose ps",
]
WRITES = [
    "docker run alpine true",
    "docker rm -f web",
    "docker container rm web",
    "docker restart web",
    "docker stop web",
    "docker kill -s HUP web",
    "docker system prune -f",
    "docker image prune",
    "docker volume rm data",
    "docker network connect bridge web",
    "docker -H tcp://other:2375 ps",
    "docker --host=tcp://other:2375 ps",
    "docker --context prod ps",
    "docker --config /tmp/x ps",
    "docker compose -f other.yml ps",
    "docker compose up -d",
    "docker compose exec api sh",
    "docker exec web rm -rf /data",
    "docker exec -e LD_PRELOAD=/x.so web ls",
    "docker exec --privileged web ls",
    "docker exec -d web ls",
    "docker exec web",
    "docker cp web:/etc/passwd .",
    "docker update --memory 1g web",
    "docker plugin ls",
    "docker unknown",
    "podman --remote ps",
    "podman --url ssh://x ps",
    "nerdctl -a /tmp/sock ps",
    "crictl rm abc",
    "crictl -r unix:///x ps",
    "ctr containers rm web",
    "ctr run image name",
]


@pytest.mark.parametrize("command", READS)
def test_looking_at_containers_is_accepted(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@pytest.mark.parametrize("command", WRITES)
def test_touching_containers_is_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize("command", ["docker logs -f web", "docker stats", "docker events", "docker exec -it web ls"])
def test_what_never_ends_is_said_to_be_so(command: str) -> None:
    assert not classify(command).bounded


def test_logs_that_are_followed_are_rewritten_to_end() -> None:
    assert classify("docker logs -f web").rewrite == "docker logs --tail=200 web"


def test_a_command_in_a_container_enters_it_and_is_never_certain() -> None:
    verdict = classify("docker exec web ps aux")
    assert verdict.targets == ("container:web",)
    assert verdict.intent == "read_only_conditional"


def test_the_interpolated_configuration_of_compose_is_sensitive() -> None:
    assert classify("docker compose config").sensitive
