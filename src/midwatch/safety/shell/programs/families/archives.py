"""Archives: listing what is in them, or printing it; never unpacking."""

import re

from midwatch.safety.shell.programs.answers import changes, reads
from midwatch.safety.shell.programs.arguments import read_arguments
from midwatch.safety.shell.programs.build import collect, program, verb
from midwatch.safety.shell.programs.model import Call, Judgement
from midwatch.safety.shell.verdict import Finding, write_finding
from midwatch.safety.shell.words import Word

_OLD_STYLE = re.compile(r"[tvfzjJ]+")
_TAR = verb(
    flags="-t --list -v --verbose -z --gzip --gunzip --ungzip -j --bzip2 -J --xz --zstd --lzma --lzip -a"
    " --auto-compress --full-time --force-local --wildcards --no-wildcards --ignore-case --no-recursion"
    " --numeric-owner -R --block-number --utc --quote-chars --anchored --no-anchored --ignore-zeros -i --version"
    " --help",
    values="--exclude --strip-components --quoting-style -b --blocking-factor --occurrence",
    paths="-f --file -X --exclude-from -T --files-from -C --directory",
    needs="-t --list --version --help",
    operands="text*",
)


def _tar(name: str, words: tuple[Word, ...]) -> Judgement:
    """`tar tf x` is `tar -tf x`. A colon in the name of an archive makes tar log in to another machine."""
    first = words[0] if words else None
    if first is not None and first.known and not first.text.startswith("-"):
        if not _OLD_STYLE.fullmatch(first.text) or "t" not in first.text:
            return changes("option:writes", f"tar {first.text}")
        letters = first.text.replace("f", "") + ("f" if "f" in first.text else "")
        words = (Word(f"-{letters}"), *words[1:])
    reading = read_arguments(name, _TAR, words)
    if _TAR.needs.isdisjoint(reading.options):
        return changes("option:needed", name)
    archives = [value for key in ("-f", "--file") for value in reading.options.get(key, ()) if value is not None]
    if "--force-local" not in reading.options and any(not a.known or ":" in a.text for a in archives):
        return changes("option:foreign", "tar -f")
    return reads(name)


def _compress(call: Call) -> Finding | None:
    """The last of several modes wins, so unpacking is harmless only on the way to standard output."""
    if call.has("-d --decompress") and not call.has("-c --stdout --to-stdout"):
        return write_finding("option:writes", part=f"{call.program} -d")
    if call.operands and not call.has("-l --list -t --test -c --stdout --to-stdout"):
        # Some say which version they are and go on.
        return write_finding("option:writes", part=call.program)
    return None


def _refuse_lists(call: Call) -> Finding | None:
    """`@file` holds further words, options among them."""
    if any(word.text.startswith("@") for word in call.operands):
        return write_finding("operands:file", part=call.program)
    return None


PROGRAMS = collect(
    ("tar gtar bsdtar", _tar),
    program(
        "unzip",
        flags="-l -t -p -v -q -Z -c -C -1 -2",
        needs="-l -t -p -v -Z -c",
        style="stop",  # what follows the archive is unpacked
        operands="path text*",
    ),
    program("zipinfo", flags="-1 -2 -s -m -l -v -h -t -T -z", style="stop", operands="path text*", names_only=True),
    program("zipgrep", operands="text path text*"),
    program(
        "gzip gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd",
        flags="-l --list -t --test -v --verbose -q --quiet -c --stdout --to-stdout -d --decompress -k --keep -h"
        " --help -V --version",
        needs="-l --list -t --test -c --stdout --to-stdout -h --help -V --version",
        operands="path*",
        check=_compress,
    ),
    program(
        "7z 7za 7zr p7zip",
        verbs={
            "l": verb(flags="-slt -ba -r", style="single", operands="path text*", check=_refuse_lists),
            "t": verb(operands="path text*", check=_refuse_lists),
        },
    ),
)
