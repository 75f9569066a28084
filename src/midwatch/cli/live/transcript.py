"""The transcript of one session: what is told becomes lines, in an order that reads well and is never taken back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.markdown import Markdown
from rich.text import Text

from midwatch.cli.live.closing import DEMO, list_executions, summarise
from midwatch.cli.live.digest import read_refusal
from midwatch.cli.live.follow import Ended, Event, Found, Item, Lost, Seen, Told
from midwatch.cli.live.lines import (
    GUTTER,
    name_call,
    render_aside,
    render_call,
    render_fact,
    render_note,
    render_separator,
    settle_call,
)
from midwatch.cli.live.requests import render_waiting
from midwatch.cli.live.screen import Screen
from midwatch.cli.live.wrap import Wrapping
from midwatch.cli.terminal import clean
from midwatch.domain.session import SessionStatus, StageType
from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType

_THINKING = "dim italic"
_NARROWEST = 10
_REWRITE = "gate:rewrite"
_CUT = frozenset({TimelineStatus.INTERRUPTED, TimelineStatus.CANCELLED, TimelineStatus.TIMED_OUT})


@dataclass(slots=True, kw_only=True)
class _Stream:
    """A text that is being said."""

    kind: str
    agent: str
    shown: str = ""
    """What of it was taken in; all of it is the beginning of the whole."""
    has_gap: bool = False
    """The connection broke while it was being said: the rest is shown when it is whole."""
    wrapping: Wrapping = field(default_factory=Wrapping)


@dataclass(slots=True, kw_only=True)
class Transcript:
    screen: Screen
    _session: Mapping[str, Any] = field(default_factory=dict[str, Any])
    _models: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    _due: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Stages that have begun and have no separator yet: the model is named before the first of them."""
    _begun: set[str] = field(default_factory=set[str])
    _streams: dict[str, _Stream] = field(default_factory=dict[str, _Stream])
    _front: str | None = None
    """The one stream that is shown while it comes."""
    _is_deaf: bool = False
    _asked: dict[str, Event] = field(default_factory=dict[str, Event])
    _held: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """What models said, each with its agent, until it is known not to be the analysis itself."""
    _analysis: str | None = None
    _withdrawn: set[str] = field(default_factory=set[str])
    """Drafts of conclusions that were none."""
    _said: set[str] = field(default_factory=set[str])

    def take(self, item: Item) -> None:
        match item:
            case Seen(session):
                self._see(session)
            case Told(event):
                self._hear(event)
            case Lost():
                self._lose()
            case Found():
                if self._is_deaf:
                    self._is_deaf = False
                    self.screen.doing = "connected again"
            case Ended(session):
                self._end(session)

    def note(self, text: str) -> None:
        self.screen.show_exactly(f"{self.screen.marks.note} {text}")

    def _see(self, session: Mapping[str, Any]) -> None:
        is_first = not self._session
        self._session = session
        if is_first:
            self._show_header(session)
        self._name_models()

    def _show_header(self, session: Mapping[str, Any]) -> None:
        self.screen.show(
            render_fact("alert", str(session.get("alert_type")), f"chain {session.get('chain_id')}"),
            render_fact("session", str(session.get("id"))),
        )
        self.screen.doing = "waiting for a free worker"

    def _name_models(self) -> None:
        for execution in list_executions(self._session):
            model = (str(execution.get("llm_provider")), str(execution.get("model_name")))
            if model not in self._models:
                self._models.add(model)
                self._show_model(*model)
        if self._models:
            self._separate()

    def _show_model(self, provider: str, name: str) -> None:
        note = "no language model: rules choose what to look at" if provider == DEMO else provider
        self.screen.show(render_fact("model", name, "" if note == name else note))

    def _begin_stage(self, stage_id: object, stage: Mapping[str, Any]) -> None:
        if stage_id not in self._begun:
            self._begun.add(str(stage_id))
            if stage.get("stage_type") == StageType.EXEC_SUMMARY:
                # What it sums up is shown last of all, once.
                self._release(self._analysis)
                self._analysis = None
            self._due.append((str(stage.get("stage_name")), str(stage.get("stage_index"))))
            if self._models:
                self._separate()

    def _find_stage(self, event: Event) -> None:
        """Of an event that was read again: nobody told us when its stage began."""
        for stage in self._session.get("stages") or ():
            if stage.get("id") == event.get("stage_id"):
                self._begin_stage(stage.get("id"), stage)

    def _separate(self) -> None:
        due, self._due = self._due, []
        for name, index in due:
            self._release(self._analysis)
            self._show_analysis()
            total = self._session.get("total_stages") or "?"
            self._show_separator(f"{name} · stage {index} of {total}")

    def _show_separator(self, title: str) -> None:
        self.screen.show("", render_separator(title, width=self.screen.width, marks=self.screen.marks))

    def _hear(self, event: Event) -> None:
        match event.get("type"):
            case EventType.STAGE_STATUS if event.get("status") == "started":
                self._begin_stage(event.get("stage_id"), event)
            case EventType.SESSION_STATUS:
                self._hear_status(str(event.get("status")), waiting_for=event.get("waiting_for"))
            case EventType.EXECUTION_PROGRESS:
                self.screen.doing = str(event.get("message") or "")
            case EventType.STREAM_CHUNK:
                self._hear_chunk(str(event.get("event_id")), str(event.get("delta") or ""))
            case EventType.SESSION_RESUMED:
                self._drop_streams()
            case EventType.TIMELINE_CREATED if event.get("status") == TimelineStatus.STREAMING:
                self._open(event)
            case EventType.TIMELINE_CREATED | EventType.TIMELINE_COMPLETED:
                self._close(event)
            case _:
                pass

    def _hear_status(self, status: str, *, waiting_for: object) -> None:
        match status:
            case _ if waiting_for:
                self.screen.doing = f"waiting for {waiting_for}"
            case SessionStatus.PENDING:
                self.screen.doing = "waiting for a free worker"
            case SessionStatus.IN_PROGRESS:
                self.screen.doing = "starting tools"
            case SessionStatus.CANCELLING:
                self.screen.doing = "being cancelled"
            case _:
                pass

    def _open(self, event: Event) -> None:
        event_id, kind = str(event.get("event_id")), str(event.get("event_type"))
        if kind == TimelineType.LLM_TOOL_CALL:
            self._separate()
            self._release(None)
            self._asked[event_id] = event
            self.screen.doing = (
                f"calling {', '.join(name_call(asked.get('metadata') or {}) for asked in self._asked.values())}"
            )
            return
        if event_id in self._streams:
            return
        self._streams[event_id] = _Stream(kind=kind, agent=self._agent_of(event))
        is_thinking = kind == TimelineType.LLM_THINKING
        self.screen.doing = "thinking" if is_thinking else "writing"
        if is_thinking and self._front is None:
            self._front = event_id

    def _hear_chunk(self, event_id: str, delta: str) -> None:
        stream = self._streams.get(event_id)
        if stream is None or stream.has_gap:
            return
        if event_id == self._front:
            self._separate()
            self._say(stream, delta)
        elif stream.kind == TimelineType.LLM_RESPONSE:
            stream.shown += delta
            self.screen.doing = f"writing ({len(stream.shown.split())} words)"

    def _say(self, stream: _Stream, delta: str) -> None:
        is_first = not stream.shown
        stream.shown += delta
        if is_first and stream.agent:
            self.screen.show(render_aside(stream.agent, "dim bold"))
        self._show_lines(stream.wrapping.feed(clean(delta), self._room), _THINKING)
        self.screen.partial = stream.wrapping.rest

    @property
    def _room(self) -> int:
        return max(self.screen.width - GUTTER, _NARROWEST)

    def _show_lines(self, lines: list[str], style: str) -> None:
        for line in lines:
            self.screen.show(Text(f"{' ' * GUTTER}{line}" if line else "", style=style))

    def _close(self, event: Event) -> None:
        self._find_stage(event)
        self._separate()
        content = str(event.get("content") or "")
        match event.get("event_type"):
            case TimelineType.LLM_THINKING:
                self._close_thinking(event, content)
            case TimelineType.LLM_RESPONSE:
                self._close_response(event, content)
            case TimelineType.LLM_TOOL_CALL:
                self._close_call(event)
            case TimelineType.FINAL_ANALYSIS:
                self._release(content)
                self._analysis = content
            case TimelineType.TOOL_REFUSED:
                self._show_rewrite(event, content)
            case kind:
                self._release(None)
                self._show_other(str(kind), event, content)

    def _close_response(self, event: Event, content: str) -> None:
        """A draft is told of once more when it turns out to be no conclusion."""
        event_id, status = str(event.get("event_id")), event.get("status")
        stream = self._streams.pop(event_id, None)
        if event_id not in self._said:
            self._said.add(event_id)
            self._held.append((stream.agent if stream else self._agent_of(event), content))
        is_new = status == TimelineStatus.WITHDRAWN and event_id not in self._withdrawn
        if is_new or status in _CUT:
            self._withdrawn.add(event_id)
            self._release(None)
            self.screen.show(render_aside("[withdrawn]" if is_new else "[cut off]", "yellow"))

    def _show_rewrite(self, event: Event, content: str) -> None:
        """Other refusals are told with the call itself."""
        metadata: Mapping[str, Any] = event.get("metadata") or {}
        if metadata.get("policy_rule") == _REWRITE:
            self._release(None)
            message, hint = read_refusal(content)
            self.screen.show(render_note(self.screen.marks.note, f"{message}. {hint}", "dim"))

    def _close_thinking(self, event: Event, content: str) -> None:
        event_id = str(event.get("event_id"))
        stream = self._streams.pop(event_id, None) or _Stream(kind="", agent=self._agent_of(event))
        if not content.startswith(stream.shown):
            stream = _Stream(kind=stream.kind, agent=stream.agent)
        self._say(stream, content[len(stream.shown) :])
        self._show_lines(stream.wrapping.finish(self._room), _THINKING)
        self.screen.partial = ""
        if event.get("status") in _CUT:
            self.screen.show(render_aside("[cut off]", "yellow"))
        if self._front == event_id:
            self._front = None

    def _close_call(self, event: Event) -> None:
        self._release(None)
        asked = self._asked.pop(str(event.get("event_id")), event)
        call = settle_call(asked, event, agent=self._agent_of(asked))
        self.screen.show(*render_call(call, width=self.screen.width, marks=self.screen.marks))

    def _show_other(self, kind: str, event: Event, content: str) -> None:
        marks = self.screen.marks
        match kind:
            case TimelineType.ERROR:
                self.screen.show(render_note(marks.bad, content, "red"))
            case TimelineType.PROVIDER_RETRY:
                self.screen.show(render_note(marks.again, f"trying again: {content}", "yellow"))
            case TimelineType.PROVIDER_FALLBACK:
                self.screen.show(render_note(marks.again, content, "yellow"))
            case TimelineType.SESSION_RESUMED:
                attempts = _attempts(event)
                tried = f" (attempt {attempts})" if isinstance(attempts, int) and attempts > 1 else ""
                self.screen.show(render_note(marks.again, f"{content}{tried}", "yellow"))
            case TimelineType.APPROVAL_REQUESTED:
                self.screen.show(*render_waiting(event.get("metadata") or {}, marks=marks))
                self.screen.doing = "waiting for approval"
            case TimelineType.APPROVAL_DECIDED:
                self.screen.show(render_note(marks.note, content, "bold"))
            case _:
                self.screen.show(render_note(marks.note, f"{kind.replace('_', ' ')}: {content}", "dim"))

    def _release(self, analysis: str | None) -> None:
        """Shows what models said, unless it is the analysis, which is shown for itself."""
        held, self._held = self._held, []
        for agent, text in held:
            if text == analysis:
                continue
            if agent:
                self.screen.show(render_aside(agent, "dim bold"))
            wrapping = Wrapping()
            lines = wrapping.feed(clean(text), self._room) + wrapping.finish(self._room)
            self._show_lines(lines, "")

    def _show_analysis(self) -> None:
        """Of a stage that others follow."""
        if self._analysis:
            self.screen.show("", Markdown(clean(self._analysis), hyperlinks=False))
        self._analysis = None

    def _lose(self) -> None:
        if not self._is_deaf:
            self.note("the connection is lost; trying to get it back")
        self._is_deaf = True
        for stream in self._streams.values():
            stream.has_gap = True
        self.screen.doing = "trying to connect again"

    def _drop_streams(self) -> None:
        if self.screen.partial:
            self._show_lines([self.screen.partial], _THINKING)
        self._streams.clear()
        self._front = None
        self.screen.partial = ""

    def _end(self, session: Mapping[str, Any]) -> None:
        self._session = session
        if not self._models:
            self._name_models()
        self._separate()
        self._drop_streams()
        final = session.get("final_analysis")
        self._release(self._analysis or final)
        if self._analysis != final:
            self._show_analysis()
        if final:
            self._show_separator("analysis")
            self.screen.show("", Markdown(clean(final), hyperlinks=False))
        self._show_ending(session)

    def _show_ending(self, session: Mapping[str, Any]) -> None:
        marks = self.screen.marks
        is_good = session.get("status") == SessionStatus.COMPLETED
        self.screen.show("")
        for warning in session.get("warnings") or ():
            self.screen.show(render_note("!", str(warning), "yellow"))
        if session.get("error_message"):
            self.screen.show(render_note(marks.bad, str(session["error_message"]), "red"))
        mark, style = (marks.good, "green") if is_good else (marks.bad, "red")
        self.screen.show(render_note(mark, summarise(session), style))

    def _agent_of(self, event: Event) -> str:
        """Its name, where several work side by side."""
        for stage in self._session.get("stages") or ():
            executions = stage.get("executions") or ()
            if len(executions) > 1:
                for execution in executions:
                    if execution.get("execution_id") == event.get("execution_id"):
                        return str(execution.get("agent_name"))
        return ""


def _attempts(event: Event) -> object:
    match event.get("metadata"):
        case {"attempts": attempts}:
            return attempts
        case _:
            return None
