"""Processes and the machine: shown, never touched."""

import pytest

from midwatch.safety.shell.classify import classify

READS = [
    "ps aux",
    "ps -ef",
    "ps auxww --sort=-%mem | head -20",
    "ps -eo pid,ppid,cmd --forest",
    "ps -p 1 -o etime=",
    "top -b -n 1",
    "free -h",
    "free -m -s 1 -c 3",
    "vmstat 1 5",
    "iostat -x 1 3",
    "mpstat -P ALL 1 1",
    "sar -u 1 3",
    "pidstat -d 1 2",
    "lsof -i :8080 -P -n",
    "lsof -nP -iTCP -sTCP:LISTEN",
    "lsof +D /var/log",
    "lsof -p 123",
    "fuser -v 80/tcp",
    "pmap -x 1",
    "pstree -p",
    "pgrep -fa nginx",
    "pidof nginx",
    "crontab -l",
    "crontab -l -u www-data",
    "dmesg -T | tail -50",
    "dmesg --level=err,warn",
    "lsblk -f",
    "lsblk -o NAME,SIZE,MOUNTPOINT",
    "findmnt -T /var",
    "mount",
    "mount -t ext4",
    "swapon --show",
    "losetup -a",
    "lscpu",
    "lspci -nnk",
    "lsmod",
    "modinfo e1000",
    "sysctl -a",
    "sysctl net.ipv4.ip_forward vm.swappiness",
    "sysctl -n kernel.pid_max",
    "smartctl -a /dev/sda",
    "smartctl -H -d sat /dev/sda",
    "nvme smart-log /dev/nvme0",
    "fdisk -l",
    "parted -l",
    "mdadm --detail /dev/md0",
    "tune2fs -l /dev/sda1",
    "pvs",
    "lvs -a -o +devices",
    "zpool status -v",
    "zfs list -t snapshot",
    "btrfs filesystem usage /",
]
WRITES = [
    "kill -9 1",
    "pkill nginx",
    "killall java",
    "fuser -k 80/tcp",
    "fuser -vk /mnt",
    "sar -o out 1 1",
    "pidstat -e rm -rf x",
    "lsof -Db",
    "crontab -e",
    "crontab -r",
    "crontab file",
    "crontab -l -r",
    "dmesg -c",
    "dmesg --clear",
    "dmesg -n 1",
    "mount /dev/sda1 /mnt",
    "mount -o remount,rw /",
    "mount -a",
    "umount /mnt",
    "swapon /swapfile",
    "swapon -a",
    "losetup -d /dev/loop0",
    "losetup -a -d /dev/loop0",
    "sysctl -w vm.swappiness=1",
    "sysctl vm.swappiness=1",
    "sysctl -p",
    "sysctl --system",
    "smartctl -t long /dev/sda",
    "smartctl -s off /dev/sda",
    "hdparm -y /dev/sda",
    "fdisk /dev/sda",
    "sgdisk -l backup /dev/sda",
    "parted /dev/sda mklabel gpt",
    "parted -l /dev/sda mklabel gpt",
    "mdadm --stop /dev/md0",
    "mdadm --detail --stop /dev/md0",
    "tune2fs -c 0 /dev/sda1",
    "zpool scrub tank",
    "zfs destroy tank/x",
    "zfs diff tank@a",
    "btrfs device stats -z /",
    "vgscan",
    "modprobe x",
    "reboot",
    "shutdown -h now",
    "glances -s",
    "atop -d -w /tmp/x",
    "perf record ls",
    "dd if=/dev/zero of=/dev/sda",
]


@pytest.mark.parametrize("command", READS)
def test_looking_at_the_machine_is_accepted(command: str) -> None:
    assert classify(command).reads, classify(command).rule


@pytest.mark.parametrize("command", WRITES)
def test_changing_the_machine_is_refused(command: str) -> None:
    assert not classify(command).reads


@pytest.mark.parametrize(
    "command", ["top", "htop", "vmstat 1", "iostat -x 2", "dmesg -w", "free -s 2", "zpool iostat 1"]
)
def test_what_shows_on_and_on_is_unbounded(command: str) -> None:
    assert not classify(command).bounded


@pytest.mark.parametrize("command", ["ps auxe", "ps eww 1", "ps -o environ"])
def test_environments_of_processes_are_sensitive(command: str) -> None:
    assert classify(command).sensitive


def test_an_everyday_list_of_processes_is_not_sensitive() -> None:
    assert not classify("ps axo pid,etime,cmd").sensitive
    assert not classify("ps -ef").sensitive


def test_a_live_view_becomes_one_look() -> None:
    assert classify("htop").rewrite == "ps aux --sort=-%cpu | head -20"
    assert classify("dmesg -w").rewrite == "dmesg | tail -200"
