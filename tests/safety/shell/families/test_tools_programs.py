"""The smaller tools of systemd, services, access control, shared disks, keys and sums."""

import pytest

from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.verdict import Category

READS = [
    "loginctl", "loginctl list-sessions --no-legend", "loginctl show-user root -p State", "timedatectl",
    "timedatectl status", "timedatectl list-timezones", "hostnamectl", "hostnamectl status", "localectl status",
    "resolvectl status", "resolvectl query example.com", "resolvectl dns eth0", "networkctl list",
    "networkctl status eth0", "systemd-analyze", "systemd-analyze blame", "systemd-analyze critical-chain",
    "systemd-cgls", "systemd-detect-virt", "coredumpctl list", "coredumpctl info 1", "busctl list",
    "machinectl list", "udevadm info -q all -n /dev/sda", "systemd-cgtop -n 1 -b", "service nginx status",
    "service --status-all", "rc-status -a", "chkconfig --list", "supervisorctl status", "supervisorctl tail web",
    "monit summary", "getenforce", "sestatus -v", "aa-status", "auditctl -l", "ausearch -m avc -ts today",
    "aureport --summary", "fail2ban-client status sshd", "atq", "lpstat -p", "blkid", "blkid -o export /dev/sda1",
    "lsscsi -g", "showmount -e nas", "nfsstat -s", "rpcinfo -p", "exportfs -v", "quota -s", "multipath -ll",
    "iscsiadm -m session", "ipmitool sensor list", "ipmitool sdr", "ipmitool chassis status", "nvidia-smi",
    "nvidia-smi -q", "nvidia-smi --query-gpu=name --format=csv", "vnstat -d", "nm -D /bin/ls", "readelf -h /bin/ls",
    "objdump -d /bin/ls", "expr 1 + 1", "bc -l", "fd -e py x", "ag -i error", "man -k print", "man ls",
    "ssh-keygen -lf key.pub", "ssh-add -l", "gpg --list-keys", "keytool -list -keystore k", "gcc --version",
    "make --version", "kubectl get --raw '/readyz?verbose'", "redis-cli --scan --pattern 'x*'",
    "aws logs tail group --since 1h", "stty -a", "tshark -r f -n",
]  # fmt: skip
WRITES = [
    "loginctl terminate-user x", "loginctl -H host list-sessions", "timedatectl set-time now",
    "timedatectl set-ntp true", "hostnamectl hostname new", "hostnamectl set-hostname new", "localectl set-locale C",
    "resolvectl dns eth0 1.1.1.1", "resolvectl flush-caches", "networkctl down eth0", "systemd-analyze verify f",
    "coredumpctl dump -o f", "coredumpctl debug", "busctl call a b c d", "busctl --address=x list",
    "machinectl shell", "udevadm trigger", "service nginx restart", "service nginx status start", "service nginx",
    "chkconfig nginx on", "supervisorctl restart web", "supervisorctl -c f status", "supervisorctl",
    "monit stop all", "monit", "auditctl -D", "fail2ban-client set a b", "blkid -g", "blkid -c f", "rpcinfo -d 1 2",
    "exportfs -ra", "multipath -F", "iscsiadm -m node --login", "iscsiadm -m session -u", "ipmitool power off",
    "ipmitool raw 1", "ipmitool -H h power status", "ipmitool lanplus", "nvidia-smi -pm 1", "nvidia-smi --gpu-reset",
    "nvidia-smi -f x", "dstat --output f", "nm --plugin x f", "fd x -x rm", "fd -X rm", "fd --exec=rm",
    "ag --pager sh x", "man -P sh ls", "man --pager=sh ls", "ssh-keygen -f k", "ssh-keygen -R h", "ssh-add -D",
    "gpg --delete-keys x", "gpg -d f", "gpg --export x", "keytool -delete", "gcc f.c", "make",
    "make -f x --version install", "kubectl get --raw /api/v1/namespaces/x/pods/y/proxy", "kubectl get --raw $x",
    "stty -F /dev/ttyS0", "stty raw", "tshark -w f", "nvidia-smi -r", "lsscsi --transport=x y z",
]  # fmt: skip


@pytest.mark.parametrize("command", READS)
def test_questions_to_the_smaller_tools_are_accepted(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@pytest.mark.parametrize("command", WRITES)
def test_orders_to_the_smaller_tools_are_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize(
    "command",
    [
        "systemd-cgtop",
        "udevadm monitor",
        "glances",
        "nvidia-smi -l 1",
        "aws logs tail g --follow",
        "supervisorctl tail -f a",
    ],
)
def test_tools_that_go_on_for_ever_say_so(command: str) -> None:
    assert classify(command).endless is Category.STREAM
