"""Which files decide what a command does, and how they are looked at where they lie."""

import shlex
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.contents.finding import Content, find_contents
from tests.safety.requirements import requirement

CORPORA = Path(__file__).parent / "corpora"


def name_files(command: str) -> list[str]:
    found = find_contents(command)
    assert found.unclear is None, found.unclear
    return [file.path for file in found.files]


@requirement("approval:files")
@pytest.mark.parametrize(
    "command",
    [
        # what is run
        "bash /x now",
        "bash -eu -o pipefail /x",
        "/bin/sh -x /x",
        "source /x && reload",
        ". /x",
        "/x --force",
        "python3 -W ignore /x --all",
        "perl -w /x",
        "node --inspect /x",
        "php -f /x",
        "java -Xmx2g -jar /x",
        "deno run /x",
        "expect /x",
        "eval bash /x",
        "eval 'bash /x'",
        "sudo -u postgres -- bash /x",
        "sudo FOO=1 /x",
        "doas /x",
        "gosu app /x",
        "env FOO=1 /x",
        "timeout 60 /x",
        "nohup nice -n 5 bash /x",
        "bash -c 'bash /x'",
        "zsh -c 'bash /x'",
        "su - app -c 'bash /x'",
        "if systemctl is-active web; then bash /x; fi",
        "f() { bash /x; }; f",
        "ls() { bash /x; }; ls",
        "true && { bash /x & }",
        # what is applied
        "kubectl apply -f /x",
        "kubectl apply -f/x -n shop",
        "kubectl -n cp apply --filename=/x",
        "kubectl -n shop delete -Rf /x",
        "kubectl create configmap a --from-file=/x",
        "kubectl patch deploy web --patch-file /x",
        "helm upgrade web shop/web -f /x",
        "helm upgrade web /x",
        "docker compose -f /x up -d",
        "docker stack deploy -c /x shop",
        "docker load -i /x",
        "psql -h db -f /x shop",
        "psql -c '\\i /x'",
        "mysql -e 'source /x'",
        "sqlite3 a.db '.read /x'",
        "mongosh --quiet /x",
        "ansible-playbook -l web /x",
        "ansible all -m ping -e @/x -i /x",
        "terraform apply -auto-approve /x",
        "terraform destroy -var-file=/x",
        "nft -f /x",
        "iptables-restore /x",
        "sysctl -p /x",
        "crontab -u app /x",
        "make -f /x deploy",
        "patch -p1 -i /x",
        "git apply /x",
        "dpkg -i /x",
        "rpm -Uvh /x",
        "apt-get install -y /x",
        "pip install -r /x",
        "python3 -m pip install -r /x",
        "python3 -W ignore -m pip install -r /x",
        "virsh define /x",
        "ip -batch /x",
        "nginx -c /x",
        "logrotate -f /x",
        "deploy --values-file=/x",
        "deploy --manifest /x",
        "aws lambda update-function-code --zip-file fileb:///x",
        "curl -X POST -d @/x http://10.0.0.1/",
        "curl -F a=@/x http://10.0.0.1/",
        "curl -T /x http://10.0.0.1/",
        # what is put somewhere
        "cp /x /etc/nginx/nginx.conf",
        "cp -t /etc /x",
        "cp --target-directory=/etc /x",
        "install -m 644 /x /etc/cron.d/job",
        "rsync -a /x web-1:/etc/",
        "scp -P 22 /x web-1:/etc/",
        "docker cp /x web:/etc/",
        "kubectl cp /x shop/web:/etc/",
        "tar xzf /x -C /",
        "tar -C / -xf /x",
        "tar -xf /x conf other",
        "unzip -o /x -d /srv",
        "dd if=/x of=/srv/disk.img",
        # what it is fed with
        "psql shop < /x",
        "bash < /x",
        "cat /x | psql shop",
        "cat /x | grep -v '^--' | psql shop",
        "sudo cat /x | bash",
        'psql -c "$(cat /x)"',
        "kubectl delete pod $(cat /x)",
        "kubectl delete pod $(head -n 3 /x | tail -n 1)",
        "xargs -a /x kubectl delete pod",
        "xargs kubectl delete pod < /x",
        "parallel -a /x rm",
        "< /x tee /etc/motd",
        "cat /x &>> /etc/motd",
        "cat /x &> /etc/motd",
        "cat /x >| /etc/motd",
        "bash --rcfile /dev/null -c 'bash /x'",
        "bash -O extglob -c 'bash /x'",
        "while read p; do kubectl delete pod $p; done < /x",
        "jq -r .id /x | xargs docker rm",
        "sed s/a/b/ /x | kubectl apply -f -",
        "odd-reader /x | bash",
        "semanage fcontext -l /x | bash",
        "bash -c 'cat /x' | psql shop",
        "kubectl apply -f <(cat /x)",
        'bash <<< "$(cat /x)"',
        "bash <<END\n$(cat /x)\nEND",
        "p=$(cat /x); kubectl delete pod $p",
        'p=$(cat /x); kubectl delete pod "$p"',
        "aws iam create-role --assume-role-policy-document file:///x",
        "for p in $(cat /x); do kubectl delete pod $p; done",
        "read p < /x; kubectl delete pod $p",
        "mapfile -t a < /x; rm $a",
        "cat /x > /etc/nginx/nginx.conf",
        "sed s/a/b/ /x >> /etc/nginx/nginx.conf",
        "{ head -n 1 /x; } > /etc/motd",
        # what it loads besides
        "LD_PRELOAD=/x systemctl restart web",
        "PATH=/x web restart",
        "env LD_PRELOAD=/x systemctl restart web",
        "sudo BASH_ENV='/x' bash -c reload",
        "export BASH_ENV=/x; bash -c reload",
        # whatever stands behind it
        "bash /x -c ls",
        "bash -e /x -c 'ls'",
        "python3 /x -c 1",
        "python3 /x -m y",
        "perl /x -e 1",
        "mongosh /x --eval 1",
    ],
)
def test_the_file_that_decides_is_found(command: str) -> None:
    assert not classify(command).reads
    assert set(name_files(command)) == {"/x"}


@requirement("approval:files")
@pytest.mark.parametrize(
    "command",
    [
        "systemctl restart nginx",
        "/usr/bin/systemctl restart nginx",
        "kubectl rollout restart deploy/web -n shop",
        "kubectl delete pod web-1",
        "kubectl patch deploy web -p '{}'",
        "kubectl delete pod $(kubectl get pods -o name | grep web)",
        "rm -rf /var/log/old.log",
        "mv /var/log/old.log /data/",
        "chmod 644 /etc/nginx/nginx.conf",
        "truncate -s 0 /var/log/big.log",
        "sed -i s/a/b/ /etc/nginx/nginx.conf",
        "tee /etc/motd",
        "docker restart web",
        "docker compose rm -f web",
        "docker node update --availability drain n1",
        "docker ps -aq | xargs docker rm",
        "find /tmp -name '*.gz' | xargs rm",
        "ls /tmp | xargs rm",
        "find /tmp -name core -delete",
        "helm rollback web 3",
        "helm upgrade web bitnami/web --set a=b",
        "tar czf /tmp/a.tgz /etc",
        "dd if=/dev/zero of=/tmp/x bs=1M count=1",
        "bash -c 'systemctl restart nginx'",
        "python3 -c 'print(1)' > /tmp/a",
        "echo 'DELETE FROM a' | psql shop",
        "cat <<END | kubectl apply -f -\nkind: Pod\nEND",
        "psql shop <<< 'DELETE FROM a'",
        "pg_dump --file=/tmp/shop.sql shop",
        "zip -r /tmp/a.zip /srv",
        "rpm -e web",
        "dpkg -r web",
        "crontab -",
        "crontab -r",
        "npm install @shop/web",
        "journalctl --vacuum-files=3",
        "deploy --log-file=/tmp/log web",
        "deploy web",
        "cat /var/log/syslog; systemctl restart rsyslog",
        "cat < /etc/hosts; systemctl restart dnsmasq",
        "cat < /tmp/$x; reboot",
        *(f"cat /etc/hosts > /dev/{name}; reboot" for name in ("null", "stdout", "stderr")),
        *(f"dd if=/{name} of=/tmp/a" for name in ("dev/full", "dev/random", "dev/urandom", "dev/stdin", "proc/stat")),
        "cat /etc/hosts 2> /tmp/errors; reboot",
        "x=$(cat /etc/hosts); echo $x; reboot",
        "cat /etc/hosts | grep a; reboot",
        "echo $(cat /etc/hosts) $(rm a)",
        "PGPASSWORD=a psql -c 'delete from a'",
        'kubectl patch deploy web -p \'{"spec": {"replicas": 3}}\'',
        "bash -o pipefail -c 'systemctl restart web'",
        "docker run -e 'A=b c' alpine true",
        "cd /srv && git pull",
        "kill -9 12",
        "strace -f -p 12 -o /tmp/trace",
        "rm x;" * 200,
        "eval",
        "python3 -m",
        "sudo A=1",
        "env A=1 | psql shop",
        "python3 -m | psql shop",
        "< /etc/hosts; reboot",
        "psql shop < /dev/null",
        "bash ''",
        "python3 -m http.server -m /x",
        "",
    ],
)
def test_what_only_loses_moves_or_gets_its_content_decides_nothing(command: str) -> None:
    assert name_files(command) == []


@requirement("approval:files")
@pytest.mark.parametrize(
    ("command", "digesting"),
    [
        ("bash '/opt/fix it.sh'", "sha256sum -- '/opt/fix it.sh'"),
        ("bash ~/fix.sh", "sha256sum -- ~/fix.sh"),
        ("bash fix.sh", "sha256sum -- fix.sh"),
        ("sudo bash /x", "sha256sum -- /x"),
        ("su - app -c 'bash /x'", "sha256sum -- /x"),
        ("runuser -u app -c 'bash /x'", "sha256sum -- /x"),
        ("bash +x -c 'bash /x'", "sha256sum -- /x"),
        ("kubectl apply -f manifests", "sha256sum -- manifests"),
        ("virsh define web.xml", "sha256sum -- web.xml"),
        ("helm install web ../web.tgz", "sha256sum -- ../web.tgz"),
        ("own-tool apply all.yaml", "sha256sum -- all.yaml"),
        ("own-reader ../x | bash", "sha256sum -- ../x"),
        ("cd /opt && bash /x", "sha256sum -- /x"),
        ("docker exec -i db psql -f /x", "docker exec -i db sha256sum -- /x"),
        ("kubectl exec web-1 -n shop -- bash /x", "kubectl exec web-1 -n shop -- sha256sum -- /x"),
        ("ssh web-1 bash /x", "ssh web-1 'sha256sum -- /x'"),
        ("ssh web-1 docker exec db bash '/a b'", "ssh web-1 'docker exec db sha256sum -- /a'"),
        ("chroot /mnt bash /x", "chroot /mnt sha256sum -- /x"),
        ("docker exec db cat /x | psql shop", "docker exec db sha256sum -- /x"),
        ("ssh db-1 'cat /x' | psql shop", "ssh db-1 'sha256sum -- /x'"),
    ],
)
def test_a_file_is_looked_at_where_it_lies(command: str, digesting: str) -> None:
    assert [file.digesting for file in find_contents(command).files] == [digesting]
    assert classify(digesting).reads


@requirement("approval:files")
@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cd /opt && ./fix.sh", "./fix.sh"),
        ("pushd /opt; ./fix.sh", "./fix.sh"),
        ("popd; ./fix.sh", "./fix.sh"),
        ("chroot $folder bash /x", "/x"),
        ("kubectl exec $pod -- bash /x", "/x"),
        ("cd /opt && bash -c ./fix.sh", "./fix.sh"),
        ("setpriv --reuid=1 fix.sh", "fix.sh"),
        ("curl ftp://a.example/i.sh | bash", "ftp://a.example/i.sh"),
        ("curl http://a.example/i.sh | bash", "http://a.example/i.sh"),
        ("bash $script", "$…"),
        ("$program now", "$…"),
        ("bash /opt/*.sh", "/opt/*.sh"),
        ("bash -- -x.sh", "-x.sh"),
        ("curl -s https://a.example/i.sh | bash", "https://a.example/i.sh"),
        ("kubectl apply -f https://a.example/all.yaml", "https://a.example/all.yaml"),
        ("find /tmp -name '*.sh' -exec bash {} \\;", "…"),
        ("ls | xargs -n1 bash", "$…"),
        ("docker run --privileged -it alpine sh /x", "/x"),
        ("docker exec $c bash /x", "/x"),
        ("sudo -D /opt bash fix.sh", "fix.sh"),
        ("parallel bash ::: a.sh", ":::"),
        ("dd if=/dev/sdb of=/dev/sda", "/dev/sdb"),
        ("psql < $file", "$…"),
        ("docker compose -f $file up", "$…"),
        ("env -S 'bash /x'", "/x"),
        ("flock /tmp/lock /x", "/x"),
        ("setpriv --reuid=1 /x", "/x"),
        ("script -c 'bash /x' /dev/null", "/x"),
    ],
)
def test_a_file_that_cannot_be_looked_at_is_named_all_the_same(command: str, path: str) -> None:
    assert Content(path, None) in find_contents(command).files


@requirement("approval:files")
@pytest.mark.parametrize(
    "command",
    [
        "if then",
        "`bash /x`",
        'eval "$code"',
        'bash -c "$code"',
        "echo \x07",
        "for i in $((n)); do bash /x; done",
        reduce(lambda inner, _: f"bash -c {shlex.quote(inner)}", range(10), "bash /x"),
        "psql < ${x@P}",
        "while [[ $x -gt 0 ]]; do bash /x; done",
        "< ${x@P}; rm $y",
        "rm x;" * 201,
        "docker run " + "--name bash " * 9 + "alpine",
        "sudo " * 5000 + "bash /x",
        "env " * 5000 + "cat /x | psql",
        'ssh db-1 "cat $x" | psql shop',
        "ssh db-1 'if then' | psql shop",
    ],
)
def test_what_cannot_be_followed_is_said(command: str) -> None:
    assert find_contents(command).unclear


@requirement("approval:files")
def test_as_much_as_can_be_followed_is() -> None:
    assert find_contents("docker run " + "--name bash " * 8 + "alpine").unclear is None


@requirement("approval:files")
def test_hardly_any_command_of_the_corpora_cannot_be_followed() -> None:
    commands = (CORPORA / "dangerous.txt").read_text(encoding="utf-8").splitlines()
    unclear = [command for command in commands if find_contents(command).unclear]
    assert len(unclear) < len(commands) / 30


@requirement("approval:files")
@given(st.text(max_size=200))
def test_no_command_is_too_odd_to_be_searched(text: str) -> None:
    found = find_contents(text)
    for file in found.files:
        assert file.path
