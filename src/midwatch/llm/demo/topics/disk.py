"""Full disks: which one, what fills it, and whether the numbers add up."""

from collections.abc import Iterator

from midwatch.llm.demo.answers import DeletedFile, DeletedFiles, Disk, Disks, Entry, Largest, Overview
from midwatch.llm.demo.case import Advice, Case, Point, Problem, Topic, Wish
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.observations import Seen
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import (
    DISK_FILLING_PERCENT,
    DISK_FULL_PERCENT,
    DOMINANT_FILE_SHARE,
    DOMINANT_FOLDER_SHARE,
    INODES_FULL_PERCENT,
    LEVELS_DOWN,
    SUSPECTS,
    UNEXPLAINED_SHARE,
)
from midwatch.llm.demo.wording import build_command, say_percent, say_size, show

_IMAGES = frozenset({"squashfs", "iso9660", "erofs", "cramfs", "udf"})
"""File systems that are full by nature."""


def wish(case: Case) -> Iterator[Wish]:
    yield Wish(need=Need.DISKS, why="The alert concerns a disk, so I measure how full each file system is.")
    if not case.has_looked:
        return
    for mount in _mounts_to_search(case):
        yield from _search(case, mount)


def find(case: Case) -> Iterator[Problem]:
    for disk, source in _suspects(case):
        where = walk_down(case, disk.mounted_on)
        held = _held(case) if _is_unexplained(disk, where) else []
        yield Problem(
            symptom=Symptom.DISK,
            headline=" ".join((_state(disk), *_explain(disk, where), *_explain_held(held))),
            evidence=(Point(source=source, text=_state(disk)), *_evidence(where), *_evidence_held(case, held)),
            advice=(*_advise(disk, where), *_advise_held(held)),
            explained=bool(where or held),
        )


def read(case: Case) -> Iterator[Point]:
    yield from (Point(source=source, text=_state(disk)) for disk, source in _interesting(case)[:SUSPECTS])


def walk_down(case: Case, mount: str) -> list[Seen[Largest]]:
    """What was measured so far, from the mount point into the biggest folder, and so on."""
    path: str | None = mount
    found: list[Seen[Largest]] = []
    while path is not None and len(found) < LEVELS_DOWN:
        measured = _measured(case, path)
        if measured is None:
            break
        found.append(measured)
        path = _next_folder(measured.answer)
    return found


def _mounts_to_search(case: Case) -> list[str]:
    if _disks(case):
        return [disk.mounted_on for disk, _ in _suspects(case)]
    return list(case.clues.paths[:1])


def _search(case: Case, mount: str) -> Iterator[Wish]:
    where = walk_down(case, mount)
    if not where:
        yield Wish(need=Need.LARGEST, arguments={"path": mount}, why=f"{show(mount)} is filling up: what is in it?")
        return
    folder = _next_folder(where[-1].answer)
    if folder is not None and len(where) < LEVELS_DOWN:
        why = f"{show(folder)} holds much of it, so I look inside."
        yield Wish(need=Need.LARGEST, arguments={"path": folder}, why=why)
    disk = next((disk for disk, _ in _disks(case) if disk.mounted_on == mount), None)
    if disk and _is_unexplained(disk, where):
        why = f"The files I see on {show(mount)} are fewer than what is used: deleted files may still be open."
        yield Wish(need=Need.DELETED_FILES, why=why)


def _disks(case: Case) -> list[tuple[Disk, str]]:
    """Each file system once; the detailed list counts more than the overview."""
    found: dict[str, tuple[Disk, str]] = {}
    for overview in case.facts.of(Overview):
        found |= {disk.mounted_on: (disk, overview.source) for disk in overview.answer.fullest_disks}
    for disks in case.facts.of(Disks):
        found |= {disk.mounted_on: (disk, disks.source) for disk in disks.answer.disks}
    return [(disk, source) for disk, source in found.values() if disk.file_system not in _IMAGES]


def _interesting(case: Case) -> list[tuple[Disk, str]]:
    """The named ones first, then the fullest."""
    named = _named_mounts(case)
    return sorted(_disks(case), key=lambda pair: (pair[0].mounted_on not in named, -pair[0].used_percent))


def _named_mounts(case: Case) -> set[str]:
    mounts = [disk.mounted_on for disk, _ in _disks(case)]
    holding = ([mount for mount in mounts if _lies_in(path, mount)] for path in case.clues.paths)
    return {max(holders, key=len) for holders in holding if holders}


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _suspects(case: Case) -> list[tuple[Disk, str]]:
    named = _named_mounts(case) if Symptom.DISK in case.symptoms else set[str]()
    found = [pair for pair in _interesting(case) if _is_suspect(case, pair[0], named=pair[0].mounted_on in named)]
    return found[:SUSPECTS]


def _is_suspect(case: Case, disk: Disk, *, named: bool) -> bool:
    if disk.read_only:
        return "read-only" in case.alert.text.lower() and Symptom.DISK in case.symptoms
    limit = DISK_FILLING_PERCENT if named else DISK_FULL_PERCENT
    return disk.used_percent >= limit or _lacks_inodes(disk)


def _lacks_inodes(disk: Disk) -> bool:
    return (disk.inodes_used_percent or 0) >= INODES_FULL_PERCENT and not disk.read_only


def _measured(case: Case, path: str) -> Seen[Largest] | None:
    for seen in case.facts.of(Largest):
        if path in (seen.answer.path, seen.argument("path")):
            return seen
    return None


def _next_folder(largest: Largest) -> str | None:
    """The folder that holds most, unless a single file explains it already."""
    total = _total(largest)
    if largest.largest_files and _top_file_size(largest) >= DOMINANT_FILE_SHARE * total:
        return None
    folders = [entry for entry in largest.entries if entry.is_folder and _is_below(entry, largest.path)]
    top = max(folders, key=lambda entry: entry.size_bytes, default=None)
    return top.path if top and top.size_bytes >= DOMINANT_FOLDER_SHARE * total and top.size_bytes else None


def _is_below(entry: Entry, folder: str) -> bool:
    return entry.path != folder and _lies_in(entry.path, folder)


def _total(largest: Largest) -> float:
    return largest.total_bytes or sum(entry.size_bytes for entry in largest.entries)


def _top_file_size(largest: Largest) -> float:
    return max((file.size_bytes for file in largest.largest_files), default=0.0)


def _is_unexplained(disk: Disk, where: list[Seen[Largest]]) -> bool:
    if not where or not disk.used_bytes:
        return False
    return disk.used_bytes - _total(where[0].answer) >= UNEXPLAINED_SHARE * disk.used_bytes


def _held(case: Case) -> list[DeletedFile]:
    files = [file for seen in case.facts.of(DeletedFiles) for file in seen.answer.files if file.size_bytes]
    return sorted(files, key=lambda file: -file.size_bytes)


def _state(disk: Disk) -> str:
    told = f"{show(disk.mounted_on)} is {say_percent(disk.used_percent)} full"
    if disk.used_bytes is not None and disk.total_bytes is not None:
        told += f" ({say_size(disk.used_bytes)} of {say_size(disk.total_bytes)})"
    if _lacks_inodes(disk):
        told += f" and has used {say_percent(disk.inodes_used_percent or 0)} of its inodes: it holds too many files"
    if disk.read_only:
        told += "; it is mounted read-only"
    return f"{told}."


def _explain(disk: Disk, where: list[Seen[Largest]]) -> Iterator[str]:
    if where:
        deepest = where[-1].answer
        yield f"Followed down, the space is in {show(deepest.path)} ({say_size(_total(deepest))})."
        if deepest.largest_files:
            top = max(deepest.largest_files, key=lambda file: file.size_bytes)
            yield f"The largest file there is {show(top.path)} ({say_size(top.size_bytes)})."
    if _is_unexplained(disk, where):
        seen = _total(where[0].answer)
        yield f"I see files of {say_size(seen)} only: the rest is deleted, hidden from me or on another layer."


def _explain_held(held: list[DeletedFile]) -> Iterator[str]:
    if held:
        told = f"{say_size(sum(file.size_bytes for file in held))} are in deleted files that are still open"
        yield f"{told}, most of it in {show(held[0].process or 'an unknown process')}{_pid(held[0])}."


def _evidence(where: list[Seen[Largest]]) -> Iterator[Point]:
    for seen in where:
        answer = seen.answer
        top = sorted(answer.entries, key=lambda entry: -entry.size_bytes)[:3]
        parts = ", ".join(f"{show(entry.path)} {say_size(entry.size_bytes)}" for entry in top) or "nothing I may read"
        partly = "" if answer.complete else " (it stopped early, so this is a part)"
        yield Point(source=seen.source, text=f"{show(answer.path)} holds {say_size(_total(answer))}{partly}: {parts}.")


def _evidence_held(case: Case, held: list[DeletedFile]) -> Iterator[Point]:
    for seen in case.facts.of(DeletedFiles):
        files = "; ".join(f"{show(file.path)} {say_size(file.size_bytes)}{_pid(file)}" for file in held[:3])
        yield Point(source=seen.source, text=f"Deleted but open: {files or 'nothing'}.")


def _pid(file: DeletedFile) -> str:
    return "" if file.pid is None else f" (pid {file.pid})"


def _advise(disk: Disk, where: list[Seen[Largest]]) -> Iterator[Advice]:
    deepest = where[-1].answer if where else None
    path = deepest.path if deepest else disk.mounted_on
    if _lacks_inodes(disk):
        yield Advice(text="Count the files", command=build_command("du", "-x", "--inodes", "--max-depth=2", path))
    else:
        yield Advice(text="Look closer", command=build_command("du", "-xh", "--max-depth=1", path))
    for beginning, text, command, destroys in _CLEANERS:
        if _lies_in(path, beginning):
            yield Advice(text=text, command=command, destroys=destroys)
            return
    files = deepest.largest_files if deepest else ()
    top = max(files, key=lambda file: file.size_bytes, default=None)
    if top is None:
        return
    if top.path.endswith(".log") or "/log/" in top.path:
        empty = build_command("truncate", "-s", "0", top.path)
        yield Advice(
            text="Empty the log once it is copied, then see why it grows",
            command=empty,
            destroys="the lines in it are lost",
        )
    else:
        yield Advice(
            text="If nobody needs the file", command=build_command("rm", "-i", top.path), destroys="the file is gone"
        )


_CLEANERS = (
    ("/var/log/journal", "Shrink the journal", "journalctl --vacuum-size=500M", "its oldest entries are lost"),
    ("/var/cache/apt", "Empty the package cache", "apt-get clean", "downloaded packages are gone"),
    (
        "/var/lib/docker",
        "Remove what no container uses",
        "docker system prune",
        "stopped containers and unused images are gone",
    ),
)


def _advise_held(held: list[DeletedFile]) -> Iterator[Advice]:
    if held and held[0].pid is not None:
        who = f"{show(held[0].process or 'the process')}{_pid(held[0])}"
        yield Advice(text=f"Restart {who} to let go of its deleted files", command=f"ps -fp {held[0].pid}")


TOPIC = Topic(symptom=Symptom.DISK, wish=wish, find=find, read=read)
