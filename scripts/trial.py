"""Trying changed code on the tests: one process has them all imported, and a fork of it meets each change.

What only shows when modules are imported anew is tried in a fork that has imported none of them yet.
"""

import gc
import importlib
import marshal
import os
import pkgutil
import resource
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Protocol

import pytest
from hypothesis import HealthCheck, Phase, settings
from mutants import ROOT, SOURCES, Mutant, locate

ALL_OF = "midwatch.safety"
OURS = "midwatch."
Place = tuple[str, str, int]
"""File, qualified name and first line of a function."""
_MEMORY = 4 << 30
_SHORTEST = 3.0
_LONGER = 20.0
_LEFT_OUT = {"postgres", "dsn", "store"}


@dataclass(frozen=True, slots=True)
class Tests:
    """What a first run over unchanged code has shown."""

    seconds: dict[str, float]
    """How long each test takes."""
    reaching: dict[Place, frozenset[str]]
    """The tests that call a function."""
    on_import: frozenset[Place]
    """Functions that are called while modules are imported."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`killer` is the test that failed, or what else told of the change."""

    status: str
    killer: str = ""


def place_of(mutant: Mutant) -> Place:
    return str(locate(mutant.module)), mutant.function, mutant.first_line


@dataclass(slots=True)
class Bench:
    """The warm process, seen from outside."""

    connection: Connection
    process: int
    tests: Tests

    @classmethod
    def open(cls, paths: Sequence[str]) -> "Bench":
        ours, theirs = Pipe()
        process = os.fork()
        if not process:
            ours.close()
            _leave(lambda: _collect(paths, _Server(theirs)))
        theirs.close()
        try:
            tests = ours.recv()
        except EOFError:
            raise SystemExit("the tests cannot be collected") from None
        if isinstance(tests, str):
            raise SystemExit(f"without any change a test fails: {tests}")
        return cls(ours, process, tests)

    def attempt(self, mutant: Mutant, order: Sequence[str], *, limit: float) -> Outcome:
        self.connection.send((place_of(mutant), marshal.dumps(mutant.compile()), list(order), limit))
        return self.connection.recv()

    def close(self) -> None:
        self.connection.close()
        os.waitpid(self.process, 0)


def attempt_anew(mutant: Mutant, order: Sequence[str], *, paths: Sequence[str], limit: float, tests: Tests) -> Outcome:
    """Imports everything again, with the change in it."""

    def run(connection: Connection) -> None:
        sys.meta_path.insert(0, _Finder(mutant.module, mutant.compile()))
        plugin = _Run(connection, order, tests)
        if _collect(paths, plugin) and not plugin.ran:
            connection.send(Outcome("killed", "the import"))

    return _fork(run, limit=limit)


def _collect(paths: Sequence[str], plugin: object) -> int:
    settings.register_profile(
        "mutants",
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=no", "--capture=no", "-o", "addopts="]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plugins are imported before the fork, for speed
    return pytest.main([*options, f"--rootdir={ROOT}", *(str(ROOT / path) for path in paths)], plugins=[plugin])


def _leave(work: Callable[[], object]) -> None:
    """What a forked process does instead of returning. It prints nothing."""
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(quiet, stream)
        work()
    finally:
        os._exit(0)


def _fork(work: Callable[[Connection], object], *, limit: float) -> Outcome:
    """The processor time of each test is limited inside, the whole by the wall clock here."""
    ours, theirs = Pipe(duplex=False)
    process = os.fork()
    if not process:
        os.setpgid(0, 0)
        ours.close()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        _leave(lambda: work(theirs))
    theirs.close()
    outcome = Outcome("timed out")
    if ours.poll(limit):
        try:
            outcome = ours.recv()
        except EOFError:
            outcome = Outcome("ended")
    with suppress(ProcessLookupError):  # it has not come so far as to lead its own group
        os.killpg(process, signal.SIGKILL)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if outcome.status != "ended":
        return outcome
    return Outcome("timed out" if os.WTERMSIG(status) == signal.SIGPROF else "killed", "the end of the process")


def _run_tests(session: pytest.Session, order: Sequence[str], tests: Tests) -> Outcome:
    """Stops at the first that fails."""
    items = {item.nodeid: item for item in session.items}
    chosen = [items[name] for name in order if name in items]
    for at, item in enumerate(chosen):
        limit = max(_SHORTEST, _LONGER * tests.seconds.get(item.nodeid, 0.0))
        signal.setitimer(signal.ITIMER_PROF, limit)
        following = chosen[at + 1] if at + 1 < len(chosen) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return Outcome("killed", item.nodeid)
    return Outcome("survived")


class _Cached(Protocol):
    def cache_clear(self) -> None: ...


class _Selecting:
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Tests with a database or of the sources themselves are slow and tell nothing of pure functions."""
        items[:] = [item for item in items if not _LEFT_OUT & set(getattr(item, "fixturenames", ()))]


@dataclass(slots=True, eq=False)
class _Run(_Selecting):
    connection: Connection
    order: Sequence[str]
    tests: Tests
    ran: bool = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            self.ran = True
            self.connection.send(_run_tests(session, self.order, self.tests))
        return True


@dataclass(slots=True, eq=False)
class _Server(_Selecting):
    connection: Connection
    called: set[CodeType] = field(default_factory=set[CodeType])

    def pytest_sessionstart(self) -> None:
        sys.setprofile(self._note_call)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        _import_all()
        sys.setprofile(None)
        on_import = frozenset(_places(self.called))
        tests = self._measure(session, on_import)
        if tests is not None:
            self.connection.send(tests)
            self._serve(session, tests)
        return True

    def _note_call(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self.called.add(frame.f_code)

    def _measure(self, session: pytest.Session, on_import: frozenset[Place]) -> Tests | None:
        caches = _caches()
        seconds: dict[str, float] = {}
        reaching: defaultdict[Place, set[str]] = defaultdict(set)
        for item, following in zip(session.items, [*session.items[1:], None], strict=True):
            for cached in caches:
                cached.cache_clear()
            self.called.clear()
            began = time.process_time()
            with _profiling(self._note_call):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            seconds[item.nodeid] = time.process_time() - began
            if session.testsfailed:
                self.connection.send(item.nodeid)
                return None
            for place in _places(self.called):
                reaching[place].add(item.nodeid)
        return Tests(seconds, {place: frozenset(names) for place, names in reaching.items()}, on_import)

    def _serve(self, session: pytest.Session, tests: Tests) -> None:
        caches, functions = _caches(), _functions()
        gc.collect()
        gc.freeze()
        while True:
            try:
                place, code, order, limit = self.connection.recv()
            except EOFError:
                return
            changed = _find_code(marshal.loads(code), place)  # noqa: S302 -- our own parent has sent it

            def run(connection: Connection) -> None:
                for cached in caches:
                    cached.cache_clear()
                for function in functions[place]:  # noqa: B023 -- runs before the next is received
                    function.__code__ = changed  # noqa: B023
                connection.send(_run_tests(session, order, tests))  # noqa: B023

            self.connection.send(_fork(run, limit=limit))


@contextmanager
def _profiling(note: Callable[[FrameType, str, Any], None]) -> Generator[None]:
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def _import_all() -> None:
    """Also what is only imported when it is needed, so that forks need not."""
    package = importlib.import_module(ALL_OF)
    for module in pkgutil.walk_packages(package.__path__, f"{ALL_OF}."):
        importlib.import_module(module.name)


def _places(codes: set[CodeType]) -> Iterator[Place]:
    """Of functions; what runs inside one, like its lambdas, is called through it or by what it gave away."""
    for code in codes:
        if code.co_filename.startswith(str(SOURCES)):
            yield code.co_filename, code.co_qualname, code.co_firstlineno


def _caches() -> list[_Cached]:
    found: list[Any] = [each for each in gc.get_objects() if type(each).__name__ == "_lru_cache_wrapper"]
    return [each for each in found if getattr(each, "__module__", "").startswith(OURS)]


def _functions() -> dict[Place, list[FunctionType]]:
    found: defaultdict[Place, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__module__ and each.__module__.startswith(OURS):
            code = each.__code__
            found[code.co_filename, code.co_qualname, code.co_firstlineno].append(each)
    return found


def _find_code(code: CodeType, place: Place) -> CodeType:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if (each.co_qualname, each.co_firstlineno) == place[1:]:
                return each
            if place[1].startswith(f"{each.co_qualname}."):
                return _find_code(each, place)
    raise LookupError(place)


class _Loader(SourceFileLoader):
    def __init__(self, module: str, code: CodeType) -> None:
        super().__init__(module, str(locate(module)))
        self.code = code

    def get_code(self, fullname: str) -> CodeType:
        del fullname
        return self.code


@dataclass(frozen=True, slots=True)
class _Finder:
    module: str
    code: CodeType

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        del path, target
        if name != self.module:
            return None
        return spec_from_file_location(name, locate(name), loader=_Loader(name, self.code))
