"""How full the file systems are. One that does not answer is told of, and holds nobody up."""

import os
import queue
from collections.abc import Iterable, Sequence
from threading import Thread

from pydantic import Field

from midwatch.bundled.host.answers import Listing, PathText, Percent, Shape, Word
from midwatch.bundled.host.bounds import percent
from midwatch.bundled.host.mounts import Mount, read_mounts

_MAX_ASKED = 200
_MAX_SHOWN = 40
_PATIENCE_SECONDS = 2.0
_IMAGES = frozenset({"squashfs", "iso9660", "udf", "erofs", "cramfs", "romfs"})
"""Always full, by their nature."""
_WITHOUT_DEVICE = frozenset({"zfs", "btrfs", "bcachefs", "virtiofs", "apfs", "ubifs"})
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "9p", "afs", "lustre", "beegfs"})
_HALF = 50.0


class Disk(Shape):
    mounted_on: PathText
    device: PathText
    file_system: Word
    total_bytes: int
    used_bytes: int
    free_bytes: int = Field(description="For programs that do not run as root")
    used_percent: Percent = Field(description="As df counts: what is reserved for root is not free")
    inodes_total: int | None = Field(description="How many files it can hold at most; null when it has no such bound")
    inodes_used_percent: Percent | None = Field(description="At 100 no file can be created, however much space is left")
    read_only: bool


class Disks(Listing):
    disks: list[Disk]


def disks() -> Disks:
    """How full each file system is, in bytes and in number of files, the fullest first.

    Use it when writing fails or space runs out; then `largest` says what fills a folder, and `deleted_files` finds
    space that no folder shows. Usually instant; a network mount that hangs is named in the notes after two seconds.
    Each device is shown once; file systems in memory (tmpfs) once they are half full; images that are always full
    never.
    """
    found, notes = measure_disks(read_mounts())
    return Disks(disks=found[:_MAX_SHOWN], total=len(found), truncated=len(found) > _MAX_SHOWN, notes=notes)


def measure_disks(mounted: Iterable[Mount]) -> tuple[list[Disk], list[str]]:
    """Fullest first, and notes on those that did not tell."""
    chosen = choose_disks(mounted)
    measured: list[Disk] = []
    notes = [f"only {_MAX_ASKED} of {len(chosen)} file systems were asked"] if len(chosen) > _MAX_ASKED else []
    for mount in chosen[:_MAX_ASKED]:
        try:
            disk = _describe(mount, _ask(mount))
        except OSError as error:
            notes.append(f"{mount.folder} could not be measured: {error.strerror or 'it does not answer'}")
        else:
            measured.extend([disk] if _is_worth_telling(disk) else [])
    return sorted(measured, key=_fullness, reverse=True), notes


def choose_disks(mounted: Iterable[Mount]) -> Sequence[Mount]:
    """Each device once, where it was mounted first."""
    chosen: dict[str, Mount] = {}
    for mount in mounted:
        if _holds_files(mount):
            chosen.setdefault(mount.folder if mount.kind == "tmpfs" else mount.device, mount)
    return list(chosen.values())


def _holds_files(mount: Mount) -> bool:
    if mount.kind == "overlay":
        # Those of containers lie on a disk that is counted already; the root of our own container may be all we see.
        return mount.folder == "/"
    if mount.kind in _IMAGES:
        return False
    return (
        mount.device.startswith("/dev/") or mount.kind in _WITHOUT_DEVICE or mount.kind == "tmpfs" or _is_remote(mount)
    )


def _is_remote(mount: Mount) -> bool:
    return mount.kind in _REMOTE or mount.kind in {"fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone"}


def _ask(mount: Mount) -> os.statvfs_result:
    """Raises OSError, TimeoutError among them: a dead file server would hold us for ever."""
    if not _is_remote(mount):
        return os.statvfs(mount.folder)
    answers: queue.SimpleQueue[os.statvfs_result | OSError] = queue.SimpleQueue()
    Thread(target=_ask_aside, args=(mount.folder, answers), daemon=True, name="statvfs").start()
    try:
        answer = answers.get(timeout=_PATIENCE_SECONDS)
    except queue.Empty as empty:
        raise TimeoutError from empty
    if isinstance(answer, OSError):
        raise answer
    return answer


def _ask_aside(folder: str, answers: "queue.SimpleQueue[os.statvfs_result | OSError]") -> None:
    try:
        answers.put(os.statvfs(folder))
    except OSError as error:
        answers.put(error)


def _describe(mount: Mount, state: os.statvfs_result) -> Disk:
    used = (state.f_blocks - state.f_bfree) * state.f_frsize
    free = state.f_bavail * state.f_frsize
    inodes_used = percent(state.f_files - state.f_ffree, state.f_files) if state.f_files else None
    return Disk(
        mounted_on=mount.folder,
        device=mount.device,
        file_system=mount.kind,
        total_bytes=state.f_blocks * state.f_frsize,
        used_bytes=used,
        free_bytes=free,
        used_percent=percent(used, used + free),
        inodes_total=state.f_files or None,
        inodes_used_percent=inodes_used,
        read_only="ro" in mount.options.split(","),
    )


def _is_worth_telling(disk: Disk) -> bool:
    return disk.total_bytes > 0 and (disk.file_system != "tmpfs" or _fullness(disk) >= _HALF)


def _fullness(disk: Disk) -> float:
    return max(disk.used_percent, disk.inodes_used_percent or 0.0)
