"""What the tools answer, as far as the rules read it. A part that is not as expected is left out, never an error."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, OnErrorOmit, ValidationError
from pydantic.functional_validators import WrapValidator

_T = TypeVar("_T")
_Handler = Callable[[Any], Any]


def _or_none(value: Any, handler: _Handler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return None


def _or_empty(value: Any, handler: _Handler) -> Any:
    try:
        return handler(value)
    except ValidationError:
        return ()


def _or_no(value: Any, handler: _Handler) -> bool:
    try:
        return handler(value)
    except ValidationError:
        return False


Maybe = Annotated[_T | None, WrapValidator(_or_none)]
Rows = Annotated[tuple[OnErrorOmit[_T], ...], WrapValidator(_or_empty)]
Flag = Annotated[bool, WrapValidator(_or_no)]
Amount = Annotated[float, Field(ge=0, le=2**63, allow_inf_nan=False)]
Pid = Annotated[int, Field(ge=1, le=2**31)]
Port = Annotated[int, Field(ge=1, le=65_535)]
Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Answer(_Part):
    notes: Rows[str] = ()
    truncated: Flag = False


class Disk(_Part):
    mounted_on: Text
    used_percent: Amount
    file_system: Maybe[str] = None
    total_bytes: Maybe[Amount] = None
    used_bytes: Maybe[Amount] = None
    free_bytes: Maybe[Amount] = None
    inodes_used_percent: Maybe[Amount] = None
    read_only: Flag = False


class Load(Answer):
    one_minute: Amount
    processors: Maybe[Amount] = None
    cpu_busy_percent: Maybe[Amount] = None
    iowait_percent: Maybe[Amount] = None


class Memory(Answer):
    total_bytes: Amount
    available_bytes: Maybe[Amount] = None
    used_percent: Maybe[Amount] = None
    swap_total_bytes: Maybe[Amount] = None
    swap_used_bytes: Maybe[Amount] = None
    limit_bytes: Maybe[Amount] = None
    limit_used_bytes: Maybe[Amount] = None
    oom_kills: Maybe[Amount] = None


class LoadAverages(_Part):
    one_minute: Amount


class Overview(Answer):
    hostname: Maybe[str] = None
    processors: Maybe[Amount] = None
    cpu_busy_percent: Maybe[Amount] = None
    load: Maybe[LoadAverages] = None
    memory: Maybe[Memory] = None
    fullest_disks: Rows[Disk] = ()
    failed_services: Rows[Text] = ()


class Disks(Answer):
    disks: Rows[Disk]


class ProcessRow(_Part):
    pid: Pid
    name: Text
    user: Maybe[str] = None
    cpu_percent: Maybe[Amount] = None
    rss_bytes: Maybe[Amount] = None
    memory_percent: Maybe[Amount] = None
    state: Maybe[str] = None
    started_at: Maybe[str] = None
    command: Maybe[str] = None


class Processes(Answer):
    processes: Rows[ProcessRow]


class Process(Answer, ProcessRow):
    cwd: Maybe[str] = None
    open_files: Maybe[Amount] = None
    open_files_limit: Maybe[Amount] = None
    listening_ports: Rows[Port] = ()


class Entry(_Part):
    path: Text
    size_bytes: Amount
    is_folder: Flag = False


class BigFile(_Part):
    path: Text
    size_bytes: Amount
    modified_at: Maybe[str] = None


class Largest(Answer):
    path: Text
    entries: Rows[Entry]
    total_bytes: Maybe[Amount] = None
    largest_files: Rows[BigFile] = ()
    complete: Flag = False


class DeletedFile(_Part):
    path: Text
    size_bytes: Amount
    pid: Maybe[Pid] = None
    process: Maybe[str] = None


class DeletedFiles(Answer):
    files: Rows[DeletedFile]
    total_bytes: Maybe[Amount] = None


class Listener(_Part):
    port: Port
    protocol: Maybe[str] = None
    address: Maybe[str] = None
    pid: Maybe[Pid] = None
    process: Maybe[str] = None
    user: Maybe[str] = None


class Ports(Answer):
    ports: Rows[Listener]


class Service(_Part):
    name: Text
    state: Text
    detail: Maybe[str] = None
    pid: Maybe[Pid] = None
    since: Maybe[str] = None
    exit_code: Maybe[int] = None


class Services(Answer):
    services: Rows[Service]
    manager: Maybe[str] = None


class JournalEntry(_Part):
    message: Text
    time: Maybe[str] = None
    unit: Maybe[str] = None


class Journal(Answer):
    entries: Rows[JournalEntry]


class LogFile(_Part):
    path: Text
    size_bytes: Maybe[Amount] = None


class Logs(Answer):
    files: Rows[LogFile]


class LogLines(Answer):
    path: Text
    lines: Rows[str]


class KernelMessage(_Part):
    text: Text
    time: Maybe[str] = None


class KernelMessages(Answer):
    messages: Rows[KernelMessage]


class Container(_Part):
    name: Text
    state: Maybe[str] = None
    status: Maybe[str] = None
    image: Maybe[str] = None
    restarts: Maybe[Amount] = None


class Containers(Answer):
    containers: Rows[Container]
    runtime: Maybe[str] = None


class ContainerLines(Answer):
    name: Text
    lines: Rows[str]


SHAPES: tuple[tuple[frozenset[str], type[Answer]], ...] = (
    (frozenset({"fullest_disks"}), Overview),
    (frozenset({"load", "memory"}), Overview),
    (frozenset({"one_minute"}), Load),
    (frozenset({"total_bytes", "available_bytes"}), Memory),
    (frozenset({"processes"}), Processes),
    (frozenset({"pid"}), Process),
    (frozenset({"disks"}), Disks),
    (frozenset({"entries", "path"}), Largest),
    (frozenset({"entries"}), Journal),
    (frozenset({"files", "total_bytes"}), DeletedFiles),
    (frozenset({"files"}), Logs),
    (frozenset({"lines", "path"}), LogLines),
    (frozenset({"lines", "name"}), ContainerLines),
    (frozenset({"services"}), Services),
    (frozenset({"messages"}), KernelMessages),
    (frozenset({"containers"}), Containers),
    (frozenset({"ports"}), Ports),
)
"""Told apart by the keys they have, in this order: which server answered, and under which name, does not matter."""


def read_answer(document: dict[str, Any]) -> Answer | None:
    """None when it has none of the shapes that the rules know."""
    for keys, shape in SHAPES:
        if keys <= document.keys():
            return _or_none(document, shape.model_validate)
    return None
