"""A session that several replicas ran, one after another, in its spans."""

from dataclasses import replace
from pathlib import Path

from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from midwatch.telemetry.otel import TraceSettings, open_tracer
from tests.fakes.cutting_pool import Harm
from tests.fakes.openai_server import from_script
from tests.fakes.otlp_collector import OtlpCollector, collecting
from tests.lives import open_world

SCRIPT = (
    ScriptedTurn(calls=(ScriptedCall(name="deck.echo", arguments={"text": "a"}),)),
    ScriptedTurn(text="The pump ran dry."),
)


async def live_twice(store: Store, folder: Path, collector: OtlpCollector) -> str:
    settings = TraceSettings(endpoint=collector.endpoint, service_name="midwatch", version="1", instance="pod")
    async with (
        open_tracer(settings) as tracer,
        open_world(store, folder / "effects", from_script(SCRIPT)) as world,
    ):
        session_id = await world.submit()
        await replace(world, tracer=tracer).live_on(session_id, [{7: Harm.DIE_BEFORE}])
        return session_id.hex


async def test_each_run_is_linked_to_the_one_it_goes_on_from(clean_store: Store, tmp_path: Path) -> None:
    with collecting() as collector:
        trace_id = await live_twice(clean_store, tmp_path, collector)
    first, second = collector.named("investigate")
    assert first.failed is not None
    assert (first.links, first.attributes["midwatch.resumed"]) == ((), False)
    assert second.failed is None
    assert second.links == ((trace_id, first.span_id),)
    assert second.attributes["midwatch.resumed"] is True
    assert {span.trace_id for span in collector.spans} == {trace_id}
    executions = {span.attributes["midwatch.execution.id"] for span in collector.named("invoke_agent watch")}
    assert len(executions) == 1
