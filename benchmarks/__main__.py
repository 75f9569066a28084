"""Measures Midwatch against floors taken in the same run: `python -m benchmarks`. Fails when a target is missed."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.chains import CHAINS, ChainFigures, measure_chains
from benchmarks.chats import ChatFigures, measure_chats
from benchmarks.claims import ClaimFigures, measure_claims
from benchmarks.classifier import measure_classifier
from benchmarks.crowd import QUICK as QUICK_CROWD
from benchmarks.crowd import Crowd, CrowdFigures, measure_crowd
from benchmarks.feed import FeedFigures, measure_feed
from benchmarks.gate import measure_gate
from benchmarks.grpc_transport import TransportFigures, measure_transport
from benchmarks.intake import IntakeFigures, measure_intake
from benchmarks.ledger import LedgerFigures, measure_ledger
from benchmarks.lists import ListFigures, measure_lists
from benchmarks.loop import USUAL, LoopFigures, list_workloads, measure_loop
from benchmarks.masking import measure_masking
from benchmarks.models import measure_models
from benchmarks.openings import OpeningFigures, measure_openings
from benchmarks.phantoms import measure_phantoms
from benchmarks.recovery import QUICK as QUICK_SCALE
from benchmarks.recovery import RecoveryFigures, Scale, measure_recovery
from benchmarks.replica import open_database, temporary_folder
from benchmarks.report import render_report
from benchmarks.startup import measure_startup
from benchmarks.storage import THINKING, StorageFigures, measure_storage
from benchmarks.telemetry import TelemetryFigures, measure_telemetry
from benchmarks.tool_calls import ToolCallFigures, measure_tool_calls
from benchmarks.workload import serve_model, write_config
from midwatch.telemetry.logs import configure_logs

_METHOD = """\
Loop: CPU time of this process alone. The model, the tools and PostgreSQL are processes of their own. The floor is a
loop of httpx and the MCP SDK that stores nothing; ours is a whole replica whose sessions are journalled and read by
one subscriber. Each figure is a session of N iterations minus one of none, divided by N: medians of {rounds} rounds,
floor and ours in turn. A time alone is no verdict.

Chains: CPU time of this process for one more stage of a chain, in iterations of the loop: medians of four times
{rounds} rounds.

Gate: CPU time of a call through the gate with a command, a template, rules and discoveries, beyond sending it, beside
the time of one of {usual} iterations of the loop.

Chats: CPU time of this process from handing in a question, or an alert, until its agent is about to ask the model:
medians of four times {rounds} rounds.

Models: CPU time of this process for one call, in turn by us and by a bare httpx that posts the same bytes and reads the
same stream from the same server, in conversations of several lengths: medians of four times {rounds} rounds.

Intake: sixteen clients in this process send alerts over plain sockets, in turn to our edge without workers and to a
FastAPI route that only inserts the same rows, each in a process of its own: medians of {rounds} rounds.

Feed: the replica is in this process, its 500 clients in another. The floor is uvicorn alone, whose connections wait for
the same text and send it.

LLM service: the same model asked from this process and through `midwatch llm-service`, in turn: CPU of both processes.
The floor is a gRPC call that does nothing, one message there and one back. What is added is told for each end too; the
aim is a millisecond.

Masking: CPU time of this process for ten megabytes of logs and YAML with 2,000 secrets, in turn with the same patterns
on `re`, one by one, on the first half megabyte: medians of {rounds} rounds.

Tool calls: CPU of this process for a call on a session that is held, ours and the SDK's client in turn, without gate,
masking and journal. The servers are processes of their own.

Classifier: shell commands judged, against the same commands only parsed: the median over commands of their medians.
Commands a second are counted through a pipe, with the start of the process.

Opening: five tool servers that wait for 0.1 to 0.5 seconds before they answer, opened side by side as for an
investigation, against the slowest of them opened alone: wall time, medians of {rounds} rounds.

Crowd: {sessions} sessions at once on one replica, with a model that streams each turn over {seconds:g} s and one tool
server over HTTP that all share, against one session alone. CPU is of this process, less what it costs idle; a callback
is one turn of the event loop, in CPU time of its thread.

Recovery: how long after a kill -9 another replica has the session; CPU of this process until the model of a resumed
session is asked again, by the number of its events; CPU of two replicas that share a load, against one that has it all.

Telemetry: CPU time of this process for all that is counted and traced of a turn, sending included, against a turn of a
replica that does neither: medians of {rounds} rounds. The collector is a process of its own.

Start: whole processes, started one after another: `--help` beside a Python that does nothing, `serve` beside a Python
that imports what every such service imports.
"""


@dataclass(frozen=True, slots=True)
class _Figures:
    loop: LoopFigures
    chains: ChainFigures
    chats: ChatFigures
    crowd: CrowdFigures
    recovery: RecoveryFigures
    ledger: LedgerFigures
    storage: StorageFigures
    claims: ClaimFigures
    intake: IntakeFigures
    lists: ListFigures
    feed: FeedFigures
    transport: TransportFigures
    tool_calls: ToolCallFigures
    openings: OpeningFigures
    telemetry: TelemetryFigures


@click.command()
@click.option("--quick", is_flag=True, help="Fewer rounds: to try it out, not to judge by")
def main(*, quick: bool) -> None:
    configure_logs("warning", "text")
    rounds, claims, reads = (2, 10, 5) if quick else (5, 50, 30)
    crowd, scale = (QUICK_CROWD, QUICK_SCALE) if quick else (Crowd(), Scale())
    click.echo(_METHOD.format(rounds=rounds, usual=USUAL, sessions=crowd.sessions, seconds=crowd.seconds))
    with temporary_folder() as folder:
        sizes = _Sizes(rounds=rounds, claims=claims, reads=reads, crowd=crowd, scale=scale)
        figures = asyncio.run(_measure(folder, sizes))
        gate = asyncio.run(measure_gate(turn=figures.loop.ours[USUAL].cpu, rounds=rounds))
        models = asyncio.run(measure_models(rounds=rounds))
        masking = measure_masking(rounds=rounds)
        classifier = measure_classifier(rounds=rounds)
        phantoms = measure_phantoms(rounds=rounds)
        startup = measure_startup(folder, folder / "empty-home", rounds=rounds)
    checks = [
        *figures.loop.checks,
        *figures.chains.checks,
        *figures.chats.checks,
        *figures.crowd.checks,
        *figures.recovery.checks,
        *figures.ledger.checks,
        *gate.checks,
        *models.checks,
        *masking.checks,
        *figures.storage.checks,
        *figures.claims.checks,
        *figures.intake.checks,
        *figures.lists.checks,
        *figures.feed.checks,
        *figures.transport.checks,
        *figures.tool_calls.checks,
        *classifier.checks,
        *phantoms.checks,
        *figures.openings.checks,
        *figures.telemetry.checks,
        *startup.checks,
    ]
    measured = (
        figures.loop,
        figures.chains,
        figures.chats,
        figures.crowd,
        figures.recovery,
        figures.ledger,
        gate,
        models,
        masking,
        figures.claims,
        figures.intake,
        figures.feed,
        figures.transport,
        figures.tool_calls,
        classifier,
        phantoms,
        figures.openings,
        figures.telemetry,
        startup,
    )
    click.echo(render_report(checks, [note for each in measured for note in each.notes]))
    sys.exit(0 if all(check.is_met for check in checks) else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    rounds: int
    claims: int
    reads: int
    crowd: Crowd
    scale: Scale


async def _measure(folder: Path, sizes: _Sizes) -> _Figures:
    rounds = sizes.rounds
    workloads = [*list_workloads(), *CHAINS, THINKING]
    async with serve_model(folder, workloads) as base_url, open_database(folder / "home") as dsn:
        config_folder = write_config(folder, workloads, base_url=base_url)
        return _Figures(
            loop=await measure_loop(config_folder, dsn, base_url=base_url, rounds=rounds),
            chains=await measure_chains(config_folder, dsn, rounds=rounds),
            chats=await measure_chats(config_folder, dsn, rounds=rounds),
            telemetry=await measure_telemetry(config_folder, dsn, rounds=rounds),
            # Before anybody leaves sessions behind that nobody runs.
            crowd=await measure_crowd(folder, dsn, crowd=sizes.crowd),
            recovery=await measure_recovery(folder, dsn, scale=sizes.scale),
            ledger=await measure_ledger(config_folder, dsn, rounds=rounds),
            storage=await measure_storage(config_folder, dsn),
            claims=await measure_claims(config_folder, dsn, claims=sizes.claims),
            feed=await measure_feed(config_folder, dsn),
            intake=await measure_intake(config_folder, dsn, alert_type=workloads[0].name, rounds=rounds),
            tool_calls=await measure_tool_calls(rounds=rounds),
            openings=await measure_openings(rounds=rounds),
            lists=await measure_lists(config_folder, dsn, rounds=sizes.reads),
            transport=await measure_transport(folder, rounds=rounds),
        )


if __name__ == "__main__":
    main()
