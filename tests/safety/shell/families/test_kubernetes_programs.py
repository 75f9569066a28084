"""kubectl and its kin: reading verbs are accepted, other clusters and changes are not."""

import pytest

from midwatch.safety.shell.classify import classify

READS = [
    "kubectl get pods",
    "kubectl get pods -A -o wide",
    "kubectl -n shop get deploy,svc --show-labels",
    "kubectl get -n shop pod/web-1 -o yaml",
    "kubectl get nodes --sort-by=.metadata.name --no-headers",
    "kubectl get events --field-selector reason=Failed -n shop",
    "kubectl describe pod web-1 -n shop",
    "kubectl logs web-1 -c app --tail=100",
    "kubectl logs -l app=web --prefix --since=10m --all-containers",
    "kubectl logs web-1 --previous",
    "kubectl top pods -A --sort-by=cpu",
    "kubectl top node",
    "kubectl explain deployment.spec --recursive",
    "kubectl api-resources --namespaced=true",
    "kubectl version --client",
    "kubectl cluster-info",
    "kubectl auth can-i get pods -n shop",
    "kubectl config get-contexts",
    "kubectl config view --minify",
    "kubectl config current-context",
    "kubectl rollout status deploy/web --timeout=10s",
    "kubectl rollout history deploy/web",
    "kubectl events --for pod/web-1",
    "kubectl exec web-1 -n shop -- cat /etc/hostname",
    "kubectl exec -c app web-1 -- ps aux",
    "oc get pods",
    "oc whoami",
    "oc status",
    "oc adm top pods",
    "helm list -A",
    "helm -n shop status web --revision 3",
    "helm history web -o json",
    "helm repo list",
    "kubectx",
    "kubens -c",
]
WRITES = [
    "kubectl delete pod web-1",
    "kubectl apply -f x.yaml",
    "kubectl edit deploy web",
    "kubectl scale deploy web --replicas=3",
    "kubectl rollout restart deploy/web",
    "kubectl rollout undo deploy/web",
    "kubectl drain node-1",
    "kubectl cordon node-1",
    "kubectl config use-context prod",
    "kubectl --kubeconfig /tmp/k get pods",
    "kubectl get pods --kubeconfig=/tmp/k",
    "kubectl --context prod get pods",
    "kubectl get pods -s https://evil",
    "kubectl get pods --server=https://evil",
    "kubectl get pods --token x",
    "kubectl get --raw /api/v1/namespaces/x/services/y/proxy/reboot",
    "kubectl get -f https://evil/x.yaml",
    "kubectl get -k .",
    "kubectl get pods --profile=cpu",
    "kubectl cp web-1:/etc/passwd .",
    "kubectl exec web-1 -- rm -rf /data",
    "kubectl exec web-1 -- sh -c 'kill 1'",
    "kubectl port-forward web-1 8080",
    "kubectl run x --image=alpine",
    "kubectl debug node/n1 -it --image=alpine",
    "kubectl annotate pod web-1 a=b",
    "kubectl krew install x",
    "kubectl cluster-info dump --output-directory=/tmp/x",
    "oc project other",
    "oc rsh web-1",
    "oc adm policy add-role-to-user admin x",
    "helm upgrade web ./chart",
    "helm uninstall web",
    "helm --kube-context prod list",
    "helm repo update",
    "kubectx prod",
    "kubens shop",
]


@pytest.mark.parametrize("command", READS)
def test_looking_at_a_cluster_is_accepted(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@pytest.mark.parametrize("command", WRITES)
def test_touching_a_cluster_is_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize(
    "command",
    [
        "kubectl get secret db -o yaml",
        "kubectl get pods,secrets -A",
        "kubectl get Secrets/db",
        "kubectl describe secret/db",
        "kubectl config view --raw",
        "oc whoami -t",
        "helm get values web",
    ],
)
def test_secrets_of_a_cluster_are_sensitive(command: str) -> None:
    assert classify(command).sensitive


def test_a_namespace_is_no_bound() -> None:
    assert not classify("kubectl logs -f web-1 -n shop").bounded
    assert not classify("kubectl get pods -w -n shop").bounded


def test_followed_logs_are_rewritten_to_end() -> None:
    assert classify("kubectl logs -f web-1").rewrite == "kubectl logs --tail=200 --since=10m web-1"


def test_a_command_in_a_pod_enters_it() -> None:
    assert classify("kubectl exec web-1 -- ps aux").targets == ("pod:web-1",)
