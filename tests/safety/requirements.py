"""What the safety of Midwatch rests on. Every requirement has its tests, and its one line in the documentation."""

from collections.abc import Callable, Mapping
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

REQUIREMENTS: Mapping[str, str] = {
    "kind:unknown-is-write": "A tool nobody has vouched for is a write.",
    "kind:operator-first": "The operator's globs decide before anything else, and their word is proof.",
    "kind:strictest-glob": "When several globs match, the strictest kind wins.",
    "kind:default-is-raised": "A default of read yields to a server that says its tool is not read-only.",
    "kind:annotations-untrusted": "A server's word that its tool only reads counts only when the operator trusts it.",
    "kind:annotations-unproven": "A trusted annotation allows a read but proves nothing.",
    "kind:pinned-definition": "A kind the operator vouches for holds for the definition that was seen first.",
    "kind:changed-is-unknown": "A tool whose definition has changed is unknown until a person accepts it.",
    "kind:names-its-rule": "Every verdict names the rule that decided.",
    "policy:read-allowed": "Reading and resolving are allowed at every control level.",
    "policy:read-only-refuses-writes": "At read_only a write is refused.",
    "policy:controlled-refuses-writes": "At controlled a write is refused until a person can approve it.",
    "policy:autonomous-allows-writes": "Only autonomous lets a write pass unasked.",
    "policy:observe-records": "Observe mode lets a write pass and records the code of the refusal it replaced.",
    "policy:observe-unasked-refuses-proven-writes": "Observe mode that was not written out refuses proven writes.",
    "gate:unknown-tool-refused": "A call to a tool that was not listed is refused with close names.",
    "gate:bad-arguments-refused": "Arguments that cannot be read as an object are refused.",
    "gate:arguments-fit-schema": "Arguments that do not fit the tool's schema are refused with what is wrong.",
    "gate:same-arguments": "Gate, journal and tool see the same arguments, however the model wrote them.",
    "gate:answers-are-data": "A result that imitates our words changes no decision.",
    "gate:refusal-journalled-once": "A refusal is journalled exactly once, is the result, and nothing is dispatched.",
    "gate:level-per-server": "Each server has its own control level, and one without rules has the strictest.",
    "gate:clearance-says-why": "A clearance carries kind, proof, rule, target and time limit of the call.",
    "gate:calls-in-flight-apart": "Calls in flight at the same time are decided and journalled each on its own.",
    "gate:no-ambiguous-server": "A server whose id could route calls to another is not offered.",
    "journal:write-started-first": "A write is journalled as started before it is dispatched.",
    "journal:unproven-read-started": "A read that only the server vouches for is journalled as started, like a write.",
    "journal:proven-read-not-started": "A proven read is not journalled as started.",
    "journal:start-refusal-stops": "When the journal refuses to start a call, nothing is dispatched.",
    "journal:dispatch-guarded": "Every call asks the journal at the last moment before it is sent.",
    "journal:finished-before-read": "A result is journalled as finished before anyone reads it.",
    "journal:finish-retried": "A result the store cannot take is offered again until it does or the lease is lost.",
    "journal:cancelled-stays-open": "A cancelled call is not journalled as finished.",
    "journal:person-ends-one-call": "A person can end one call; a change then has an unknown outcome.",
    "mask:live-notes": "What a tool says while it works is masked before it is shown, and never stored.",
    "mask:results-and-errors": "Every result is masked, failures included, before it is journalled.",
    "mask:fails-closed": "A result that cannot be masked is withheld whole.",
    "mask:on-unless-written": "Masking applies to every server unless it is switched off in writing.",
    "mask:off-the-loop": "A large result is masked without holding up other work.",
    "outbound:as-it-left": "Whatever leaves for a model is kept, and what is shown of it is what left, by its hash.",
    "outbound:every-attempt": "Attempts that fail and calls that are cancelled are kept like the others.",
    "outbound:no-secrets": "What masking knows as a secret leaves in no request to a model, and keys stand in none.",
    "outbound:forgotten": "What was sent is deleted after 30 days.",
    "order:writes-alone": "Writes of a turn run one after another, in the order the model wrote them.",
}


def requirement(*ids: str) -> Callable[[Test], Test]:
    """Says which requirements a test stands for."""
    unknown = [id_ for id_ in ids if id_ not in REQUIREMENTS]
    if unknown:
        raise KeyError(unknown)
    return lambda test: test
