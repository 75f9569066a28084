"""Accepted commands, run under strace in namespaces of their own: they write, signal and connect to nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from midwatch.safety.shell.classify import classify
from tests.safety.requirements import requirement

COMMANDS = [
    "ls -la", "cat f g", "tac f", "head -n 2 f", "tail -n 2 f", "wc -lwc f", "nl f", "cut -d: -f1 f", "paste f g",
    "sort -k1 f", "sort -u f | uniq -c", "comm f g", "join f g", "tr a b < f", "rev f", "fold -w 5 f", "expand f",
    "od -c f", "md5sum f", "sha256sum f g", "cksum f", "base64 f", "stat f", "du -sh .", "df -h", "readlink -f f",
    "realpath f", "basename /a/b", "dirname /a/b", "uname -a", "whoami", "id", "date +%F", "date -d '1 hour ago'",
    "hostname", "nproc", "uptime", "seq 1 3", "pwd", "printf '%s\\n' a", "echo $HOME", "test -f f && echo yes",
    "[ -d . ]", "[[ f == f* ]]", "grep -rn text .", "grep -c a f", "egrep 'a|b' f", "find . -type f -name '*'",
    "find . -name f -exec cat {} +", "find . -printf '%p %s\\n'", "sed -n 1,2p f", "sed 's/a/b/g; /x/d' f",
    "awk '{print $1}' f", "awk -F: 'NR>0 {s+=1} END {print s}' f", "diff f g", "cmp f g", "xargs -n1 echo < f",
    "ls | xargs cat", "env LC_ALL=C ls", "timeout 5 cat f", "nice cat f", "stdbuf -oL cat f",
    "bash -c 'cat f | sort'", "sh -c 'cat f'", "cat <<< text", "cat <(sort f) g", "for i in f g; do cat $i; done",
    'while read -r l; do echo "$l"; done < f', "x=f; cat $x", "if test -f f; then cat f; fi",
    "case f in f) cat f;; esac", 'show() { cat "$1"; }; show f', "(cat f; cat g)", "{ cat f; } 2>/dev/null",
    "cat f >/dev/null 2>&1", "! cat f", "tar tf a.tar", "gzip -dc a.gz", "gzip -l a.gz", "zcat a.gz", "strings f",
    "file f", "ps aux", "ps -ef | head -3", "free -m", "cat /proc/loadavg", "getent passwd root",
    "getconf PAGE_SIZE", "locale", "tree .", "column -t f", "git --version", "expr 1 + 1", "cal", "who", "lsblk",
    "lscpu", "findmnt", "mount", "jq . j.json", "sqlite3 -readonly d.db 'select 1'", "hexdump -C f", "xxd f", "od f",
    "shuf f", "numfmt --to=iec 1000", "printenv HOME", "umask", "ulimit -a",
]  # fmt: skip
WRITING = re.compile(
    r"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)|^\d+\s+(?:unlink|rename|mkdir|rmdir|link|symlink|chmod|chown|fchmod|fchown"
    r"|truncate|ftruncate|mknod|utime|setxattr|mount|umount|kill|tkill|tgkill|connect|sendto|bind)"
)
HARMLESS = re.compile(r'"/dev/(?:null|tty|pts/\d+)"|nscd|AF_NETLINK|ENOENT|/proc/self/fd|/dev/shm|tgkill\((\d+), \1')
CALLS = (
    "trace=open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat"
    ",chmod,fchmod,fchmodat,chown,fchown,fchownat,lchown,truncate,ftruncate,mknod,mknodat,kill,tkill,tgkill,connect,sendto"
    ",bind"
)


def can_trace() -> bool:
    if shutil.which("strace") is None or shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "-rmn", "strace", "-f", "-o", "/dev/null", "true"], capture_output=True, check=False
    )
    return tried.returncode == 0


pytestmark = pytest.mark.skipif(not can_trace(), reason="needs strace and namespaces")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "folder"
    place.mkdir()
    (place / "f").write_text("text a:b\nmore\n")
    (place / "g").write_text("text\n")
    (place / "j.json").write_text("{}")
    subprocess.run("tar cf a.tar f && gzip -c f > a.gz", shell=True, cwd=place, check=True)
    return place


def trace(command: str, folder: Path) -> list[str]:
    log = folder.parent / "strace.log"
    subprocess.run(
        [
            "unshare", "-rmn", "strace", "-f", "-qq", "-e", CALLS, "-o", str(log), "bash", "--norc", "--noprofile",
            "-c", command,
        ],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    lines = log.read_text(errors="replace").splitlines()
    return [line for line in lines if WRITING.search(line) and not HARMLESS.search(line)]


@requirement("shell:unknown-is-write")
@pytest.mark.parametrize("command", COMMANDS)
def test_an_accepted_command_neither_writes_nor_signals_nor_connects(command: str, folder: Path) -> None:
    assert classify(command).reads, classify(command).rule
    assert trace(command, folder) == []


@requirement("shell:unknown-is-write")
@pytest.mark.parametrize(
    "command", ["echo a > h", "rm f", "kill -0 1; kill -CONT $$", "mkdir d", "sort -o f f", "sed -i s/a/b/ f"]
)
def test_the_trace_shows_what_a_refused_command_does(command: str, folder: Path) -> None:
    assert not classify(command).reads
    assert trace(command, folder) != []
