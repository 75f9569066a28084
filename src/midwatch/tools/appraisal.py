"""What a call is, before anything is asked of anybody: its kind, risk and targets, and what the policy says of it.

Pure: the gate appraises what a model asks for, and a person can have any call appraised without making it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import Refusal, ToolDefinition, ToolKind
from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.judgement import assess_risk, raise_kind
from midwatch.safety.kinds import KindVerdict, OperatorKinds
from midwatch.safety.policy import Stance
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import Family, build_id, family_of, split_id
from midwatch.safety.rules import Action, Allow, Ask, Policy, Refuse, Rule
from midwatch.safety.shell.verdict import Risk, Verdict
from midwatch.safety.targets import Target, TargetTemplate, find_target
from midwatch.tools.arguments import Arguments
from midwatch.tools.commands import COMMAND_PARTS, find_command, find_query_change, takes_text
from midwatch.tools.contents import NamedContents, find_named
from midwatch.tools.exposure import Exposure, find_exposure, opens_files
from midwatch.tools.places import Place, list_places, put_at
from midwatch.tools.schemas import properties_of

LOOKS: Final = (ToolKind.READ, ToolKind.RESOLVE)
_HOSTS: Final = (Family.NODE, Family.HOST, Family.GUEST)
_GUESTS: Final = (Family.GUEST, Family.CONTAINER, Family.POD)
REWRITTEN: Final = "rewrite"

Identify = Callable[[Target], Target]
"""The target under the one id it is known by."""
Knows = Callable[[str], bool]
"""Whether anything is known that answers to a target's id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRules:
    """What the operator decided about one server."""

    kinds: OperatorKinds = field(default_factory=OperatorKinds)
    trust_annotations: bool = False
    level: ControlLevel = ControlLevel.READ_ONLY
    rules: tuple[Rule, ...] = ()
    egress_allow: tuple[str, ...] = ()
    templates: Mapping[str, TargetTemplate] = field(default_factory=dict[str, TargetTemplate])
    """By globs over tool names: what calls act on."""
    acts_on_server: bool = True
    """Its calls reach something outside, which is the server as a whole unless a template says more."""
    is_pinned: bool = True
    """What was vouched for holds for the definitions that were seen first. Not so for what comes with Midwatch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appraisal:
    tool: ToolDefinition
    arguments: Arguments
    kind: KindVerdict
    risk: Risk | None
    """None for a change that nobody has judged."""
    command: Verdict | None
    targets: tuple[Target, ...]
    """The tool's own first, then what its command enters."""
    enters: bool
    """It runs a command there, or reads files."""
    decision: Allow | Ask | Refuse

    @property
    def is_look(self) -> bool:
        return self.kind.kind in LOOKS

    def find_contents(self) -> NamedContents:
        """Only a change is decided by what is in files."""
        return NamedContents() if self.is_look else find_named(self.arguments.values, properties_of(self.tool.schema))

    def describe(self) -> dict[str, str]:
        """For the journal and whoever reads it."""
        facts = {"kind": self.kind.kind, "rule": self.kind.rule, "risk": self.risk, "policy_rule": self.decision.rule}
        return {name: str(fact) for name, fact in facts.items() if fact is not None}


def appraise(
    tool: ToolDefinition,
    arguments: Arguments,
    *,
    declared: KindVerdict,
    rules: ServerRules,
    stance: Stance,
    identify: Identify,
    knows: Knows,
) -> Appraisal | Refusal:
    """`declared` is the kind of the tool, whatever it is called with."""
    properties = properties_of(tool.schema)
    places = list_places(arguments.values, properties)
    command = find_command(places)
    verdict = None if command is None else command.verdict
    kind = _raise_by_query(raise_kind(declared, verdict), places)
    own = _find_own(tool, arguments, rules=rules, kind=kind.kind)
    if isinstance(own, Refusal):
        return own
    acted_on = () if own is None else (own, *_list_entered(own, verdict, knows=knows))
    targets = tuple(dict.fromkeys(map(identify, acted_on)))
    risk = assess_risk(kind.kind, annotations=tool.annotations, command=verdict)
    exposure = _find_exposure(places, rules=rules, kind=kind, command=verdict)
    action = _describe_action(tool, targets, kind=kind, risk=risk, command=verdict, exposure=exposure)
    policy = Policy(level=rules.level, stance=stance, rules=rules.rules, egress_allow=rules.egress_allow)
    return Appraisal(
        tool=tool,
        arguments=arguments,
        kind=kind,
        risk=risk,
        command=verdict,
        targets=targets,
        enters=command is not None or opens_files(places, properties),
        decision=policy.decide(action),
    )


def judge_kind(tool: ToolDefinition, declared: KindVerdict, read: Callable[[], Arguments | Refusal]) -> ToolKind:
    """The kind alone, for putting calls in order. Arguments are read only where something may hang on them."""
    properties = properties_of(tool.schema)
    if declared.kind not in LOOKS or not takes_text(properties):
        return declared.kind
    arguments = read()
    if isinstance(arguments, Refusal):
        return declared.kind
    places = list_places(arguments.values, properties)
    command = find_command(places)
    raised = raise_kind(declared, None if command is None else command.verdict)
    return _raise_by_query(raised, places).kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A command that may never end, and one that shows much the same and does."""

    refusal: Refusal
    arguments: Arguments


def find_rewrite(tool: ToolDefinition, arguments: Arguments) -> Rewrite | Refusal | None:
    """None when the call has no command, or one that ends by itself."""
    command = find_command(list_places(arguments.values, properties_of(tool.schema)))
    if command is None or command.verdict.endless is None:
        return None
    rewrite = command.verdict.rewrite if command.is_whole else None
    refusal = _refuse_endless(command.verdict, rewrite=rewrite)
    if rewrite is None or command.place is None:
        return refusal
    values = put_at(arguments.values, command.place, rewrite)
    return Rewrite(refusal=refusal, arguments=replace(arguments, values=values, read_as=REWRITTEN))


def _refuse_endless(command: Verdict, *, rewrite: str | None) -> Refusal:
    hint = "Nothing was sent. Bound the command so that it ends by itself, and call the tool again."
    return build_refusal(
        Code.READ_ONLY_VIOLATION,
        f"the command may never end ({command.endless})",
        hint=hint if rewrite is None else f"This is sent instead: {rewrite}",
        details={
            "category": command.endless,
            "suggested_rewrite": rewrite,
            "auto_recoverable": rewrite is not None,
        },
    )


def _raise_by_query(kind: KindVerdict, places: Sequence[Place]) -> KindVerdict:
    if kind.kind not in LOOKS or (change := find_query_change(places)) is None:
        return kind
    return KindVerdict(kind=ToolKind.WRITE, proven=True, rule=f"query:{change}")


def _find_own(
    tool: ToolDefinition, arguments: Arguments, *, rules: ServerRules, kind: ToolKind
) -> Target | Refusal | None:
    if not rules.acts_on_server:
        return None
    return find_target(tool.name, arguments.values, server=tool.server, templates=rules.templates, kind=kind)


def _find_exposure(
    places: Sequence[Place], *, rules: ServerRules, kind: KindVerdict, command: Verdict | None
) -> Exposure:
    """What is known to change something names files and addresses to change them, not to show them."""
    may_look = rules.acts_on_server and (kind.kind in LOOKS or not kind.proven)
    judged = () if command is None else COMMAND_PARTS
    named = find_exposure(places, apart_from=judged) if may_look else Exposure()
    if command is None:
        return named
    secrets = dict.fromkeys((*command.secrets, *named.secrets))
    return Exposure(secrets=tuple(secrets), egress=tuple(dict.fromkeys((*command.egress, *named.egress))))


def _list_entered(own: Target, command: Verdict | None, *, knows: Knows) -> Iterator[Target]:
    """What runs inside something acts on that, too. On a server as a whole, only what is known is told apart."""
    for text in () if command is None else command.targets:
        kind, _, name = text.partition(":")
        family = family_of(kind)
        host = _host_of(own) if family in _GUESTS else None
        entered = Target(id=build_id(kind, name, host=host), parent=None if host is None else own.id)
        if family is not None and (not own.id.startswith(SERVER_PREFIX) or knows(entered.id)):
            yield entered


def _host_of(own: Target) -> str | None:
    """Where a command runs that is given to the target."""
    parts = split_id(own.id)
    if parts is None:
        return None
    return parts.uid if family_of(parts.kind) in _HOSTS else parts.host


def _describe_action(
    tool: ToolDefinition,
    targets: tuple[Target, ...],
    *,
    kind: KindVerdict,
    risk: Risk | None,
    command: Verdict | None,
    exposure: Exposure,
) -> Action:
    return Action(
        tool=tool.full_name,
        targets=tuple(target.id for target in targets),
        kind=kind.kind,
        proven=kind.proven,
        rule=kind.rule,
        intent=None if command is None else command.intent,
        risk=risk,
        secrets=exposure.secrets,
        egress=exposure.egress,
    )
