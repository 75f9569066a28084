"""The doctor's round: everything the operator configured, looked at once, with the one command to run next."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from midwatch.cli.checks.database import check_database
from midwatch.cli.checks.finding import Finding, Grade, doubtful, fine, wrong
from midwatch.cli.checks.models import check_models
from midwatch.cli.checks.pins import check_pins
from midwatch.cli.checks.queue import check_queue
from midwatch.cli.checks.servers import judge_servers, write_kinds
from midwatch.cli.surroundings import read_all_env
from midwatch.config.env import Env
from midwatch.config.load import Config, examine_config
from midwatch.config.scope import Scope, find_scope
from midwatch.domain.errors import Misconfigured
from midwatch.tools.workbench import ServerReport, inspect_servers


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    config_dir: Path | None
    environ: Mapping[str, str]
    probe: bool
    patience: float
    """Seconds for each server and each model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    findings: Sequence[Finding]
    next: str
    """The command to run."""
    servers: Mapping[str, ServerReport] = field(default_factory=dict[str, ServerReport])
    blocks: Mapping[str, str] = field(default_factory=dict[str, str])
    """By server, what could be written into the configuration for the tools that nobody vouches for."""

    @property
    def status(self) -> int:
        return max((finding.status for finding in self.findings if finding.grade is Grade.WRONG), default=0)


async def run_checkup(orders: Orders) -> Checkup:
    try:
        env = read_all_env(orders.config_dir, orders.environ)
    except Misconfigured as error:
        return Checkup(findings=wrong("environment", error), next="midwatch doctor")
    config, findings = _check_configuration(env.config_dir, orders.environ)
    if config is None:
        findings += await check_database(env, patience=orders.patience)
        return Checkup(findings=findings, next=f"midwatch check-config{_folder_flag(env)}")
    scope = find_scope(config)
    reports, rest = await _look(config, scope, env=env, orders=orders)
    findings += [*rest, *judge_servers(reports)]
    findings += await check_pins(env, scope.servers, reports, patience=orders.patience)
    findings += await check_queue(env, config.queue, patience=orders.patience)
    return Checkup(
        findings=findings,
        next=_choose_next(env, scope, findings),
        servers=reports,
        blocks=_write_blocks(scope, reports),
    )


def _write_blocks(scope: Scope, reports: Mapping[str, ServerReport]) -> dict[str, str]:
    blocks = {name: write_kinds(name, scope.servers[name], report) for name, report in reports.items()}
    return {name: block for name, block in blocks.items() if block is not None}


def _check_configuration(folder: Path | None, environ: Mapping[str, str]) -> tuple[Config | None, list[Finding]]:
    examination = examine_config(folder, environ=environ)
    subject = "configuration"
    findings = [doubtful(subject, warning) for warning in examination.warnings]
    if examination.config is None:
        return None, [*findings, *wrong(subject, Misconfigured(examination.problems))]
    if folder is None:
        default = "none given: the built-in agent looks at this machine with the built-in tool server"
        return examination.config, [fine(subject, default), *findings]
    chains = ", ".join(find_scope(examination.config).chains) or "no chain is in use"
    return examination.config, [fine(subject, f"{folder}; chains: {chains}"), *findings]


async def _look(
    config: Config, scope: Scope, *, env: Env, orders: Orders
) -> tuple[dict[str, ServerReport], list[Finding]]:
    """Side by side: each of them mostly waits."""
    async with asyncio.TaskGroup() as group:
        database = group.create_task(check_database(env, patience=orders.patience))
        models = group.create_task(check_models(config, scope.providers, probe=orders.probe, patience=orders.patience))
        servers = group.create_task(
            inspect_servers(
                scope.servers,
                environment=orders.environ,
                secret_names=config.secret_names,
                init_timeout=orders.patience,
            )
        )
    return servers.result(), [*database.result(), *models.result()]


def _choose_next(env: Env, scope: Scope, findings: Sequence[Finding]) -> str:
    """For the worst there is; when all is well, the way on."""
    bad = next((finding for finding in findings if finding.grade is Grade.WRONG), None)
    if bad is not None:
        command = bad.remedy or "midwatch doctor"
    elif remedy := next((finding.remedy for finding in findings if finding.remedy), None):
        command = remedy
    elif env.config_dir is None and any(provider.type == "demo" for provider in scope.providers.values()):
        command = "midwatch demo"
    else:
        command = "midwatch serve"
    return f"{command}{_folder_flag(env)}"


def _folder_flag(env: Env) -> str:
    return "" if env.config_dir is None else f" --config-dir {quote(str(env.config_dir))}"
