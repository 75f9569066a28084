"""A change whose arguments hold a placeholder would overwrite a secret with it: it is refused, however it is hidden."""

import json

import pytest

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.ids import new_id
from midwatch.masking.placeholders import find_placeholders
from midwatch.safety.kinds import OperatorKinds
from midwatch.safety.policy import Stance
from midwatch.safety.session import SessionSafety
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.gate import Gate
from midwatch.tools.journaled import Journaled
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.toolset import FakeToolset
from tests.safety.requirements import requirement
from tests.settled import settle

CODE = "MASKED_VALUE_IN_WRITE"
SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "names": {"type": "array"}, "spec": {"type": "object"}},
}
TOOLS = tuple(
    ToolDefinition(server="k8s", name=name, description="", schema=SCHEMA, read_only_hint=hint)
    for name, hint in (("get", None), ("set", None), ("claims", True))
)


class Bench:
    def __init__(self, mode: SafetyMode = SafetyMode.ENFORCE) -> None:
        self.journal = FakeCallJournal()
        self.tools = FakeToolset(*TOOLS, log=self.journal.log)
        kinds = OperatorKinds(read=("get",), write=("set",))
        self.safety = SessionSafety()
        self.gate = Gate(
            inner=Journaled(inner=self.tools, journal=self.journal, safety=self.safety),
            journal=self.journal,
            safety=self.safety,
            stance=Stance(mode=mode),
            rules={"k8s": ServerRules(kinds=kinds, trust_annotations=True, level=ControlLevel.AUTONOMOUS)},
        )

    async def call(self, name: str, arguments: str) -> str | None:
        call = ToolCall(call_id=new_id(), provider_id="p", name=f"k8s.{name}", arguments=arguments)
        return (await settle(self.gate, call)).error


WRITTEN = [
    json.dumps({"text": "[MASKED_PASSWORD]"}),
    json.dumps({"text": "postgres://app:[MASKED_PASSWORD]@db/app"}),
    json.dumps({"spec": {"env": [{"name": "A"}, {"name": "B", "value": "[MASKED_SECRET_VALUE]"}]}}),
    json.dumps({"spec": {"[MASKED_TOKEN]": "as a key"}}),
    json.dumps({"text": json.dumps({"inner": "[MASKED_API_KEY]"})}),
    '{"text": "\\u005bMASKED\\u005fPASSWORD\\u005d"}',
    json.dumps({"text": "key=%5BMASKED_API_KEY%5D"}),
    json.dumps({"text": "use MASKED_PASSWORD here"}),
    json.dumps({"text": "[masked_password]"}),
    json.dumps({"text": "[REDACTED: data masking failure, the whole text was withheld]"}),
    "text: '[MASKED_PASSWORD]'",
    "names: [MASKED_PASSWORD]",
    "names: [masked_password]",
    "spec:\n  password: [MASKED_PASSWORD]\n",
    "text=[MASKED_PASSWORD]",
]


@requirement("mask:no-placeholder-in-writes")
@pytest.mark.parametrize("arguments", WRITTEN)
@pytest.mark.parametrize("mode", SafetyMode)
async def test_a_change_with_a_placeholder_is_refused_however_it_is_written(arguments: str, mode: SafetyMode) -> None:
    bench = Bench(mode)
    assert await bench.call("set", arguments) == CODE
    assert bench.tools.calls == []
    ((_, refusal),) = bench.journal.refused
    assert refusal.details["places"]
    assert "placeholder" in refusal.hint


@requirement("mask:no-placeholder-in-writes")
async def test_so_is_a_read_that_only_its_server_vouches_for() -> None:
    bench = Bench()
    assert await bench.call("claims", WRITTEN[0]) == CODE
    assert bench.tools.calls == []


@requirement("mask:no-placeholder-in-writes")
@pytest.mark.parametrize("arguments", WRITTEN)
async def test_a_proven_read_may_ask_for_one(arguments: str) -> None:
    """Whoever looks for a placeholder finds nothing, and harms nothing."""
    bench = Bench()
    assert await bench.call("get", arguments) is None


@pytest.mark.parametrize("text", ["[MASK]", "masked_array", "the value was masked", "[REDACTED]", "UNMASKED", "{}"])
async def test_what_only_resembles_a_placeholder_is_sent(text: str) -> None:
    bench = Bench()
    assert await bench.call("set", json.dumps({"text": text})) is None


def test_the_places_are_named() -> None:
    document = {"spec": {"env": [{"value": "ok"}, {"value": "[MASKED_X1]"}], "[MASKED_KEY]": 1}, "n": 3, "none": None}
    assert list(find_placeholders(document)) == ["spec.env[1].value", "spec.[MASKED_KEY]"]
    assert list(find_placeholders("[MASKED_X]")) == ["."]
