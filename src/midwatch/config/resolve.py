"""The settings of one execution: everything that was said about it, nearest word last."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TypeVar

from midwatch.config.agents import Agent, AgentType, IterationStrategy, LlmBackend, NativeTools, SubAgent
from midwatch.config.budgets import Budgets
from midwatch.config.builtins import CHAT_AGENT, SUMMARY_AGENT, SYNTHESIS_AGENT
from midwatch.config.chains import Chain, Chat, Stage, StageAgent, Synthesis
from midwatch.config.defaults import Defaults
from midwatch.config.llm import GoogleProvider, Provider
from midwatch.config.load import Config
from midwatch.config.selection import McpSelection
from midwatch.domain.errors import NotFound
from midwatch.domain.safety import ControlLevel, SafetyMode, strictest
from midwatch.domain.session import SuccessPolicy

_UNLESS_SAID = NativeTools(google_search=True, url_context=True, code_execution=False)
"""Of a Google model: it may look things up, and run nothing."""

Entry = TypeVar("Entry")
Setting = TypeVar("Setting")

_BACKENDS: Mapping[IterationStrategy, LlmBackend] = {
    "native-thinking": "google-native",
    "synthesis-native-thinking": "google-native",
    "langchain": "langchain",
    "react": "langchain",
    "synthesis": "langchain",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    provider_name: str
    provider: Provider
    backend: LlmBackend


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarizer:
    """How one server's long results are shortened, and by whom."""

    threshold_tokens: int
    limit_tokens: int
    model: ModelChoice


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentLimits:
    max_concurrent_agents: int = 5
    agent_timeout: timedelta = timedelta(seconds=420)
    max_budget: timedelta = timedelta(seconds=900)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    agent: str
    custom_instructions: str
    provider_name: str
    provider: Provider
    max_iterations: int
    servers: tuple[str, ...]
    server_instructions: Mapping[str, str]
    """What the servers in use want said about themselves; silent ones are left out."""
    control_level: ControlLevel
    safety_mode: SafetyMode
    agent_type: AgentType = ""
    backend: LlmBackend = "langchain"
    acts_in_text: bool = False
    """The model has no tool calling and writes down what it wants done."""
    fallbacks: tuple[ModelChoice, ...] = ()
    tool_filters: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The only tools allowed of a server; servers that are not named are not narrowed."""
    native_tools: frozenset[str] = frozenset()
    """Tools that the model may run itself."""
    needs_native_tools: bool = False
    """The agent or the alert asked for one of them."""
    summarizers: Mapping[str, Summarizer] = field(default_factory=dict[str, Summarizer])
    """Servers whose long results are shortened."""
    skills: tuple[str, ...] = ()
    """On demand; those always at hand are not among them."""
    required_skills: tuple[str, ...] = ()
    sub_agents: tuple[SubAgent, ...] = ()
    sub_agent_limits: SubAgentLimits = field(default_factory=SubAgentLimits)
    budgets: Budgets = field(default_factory=Budgets)


def resolve_execution(
    config: Config, chain: Chain, *, stage: Stage, stage_agent: StageAgent, selection: McpSelection | None = None
) -> ExecutionSettings:
    """Raises NotFound: a session's chain may be older than the configuration and name what is gone."""
    defaults = config.defaults
    agent = _find(config.agents, stage_agent.name, what="agent")
    model = _choose_model(
        config,
        provider=_last(defaults.llm_provider, chain.llm_provider, stage_agent.llm_provider) or "(none given)",
        backend=_last(*map(_backend, (defaults, agent, chain, stage_agent))),
    )
    servers = _pick_servers(agent, chain, stage=stage, stage_agent=stage_agent, selection=selection)
    told = {server: _find(config.mcp_servers, server, what="MCP server").instructions for server in servers}
    required = tuple(dict.fromkeys((*agent.required_skills, *stage_agent.required_skills)))
    return ExecutionSettings(
        agent=stage_agent.name,
        agent_type=_agent_type(agent, stage_agent),
        custom_instructions=agent.custom_instructions,
        provider_name=model.provider_name,
        provider=model.provider,
        backend=model.backend,
        acts_in_text=_acts_in_text(defaults, agent, chain, stage_agent),
        fallbacks=_fallbacks(config, chain, stage=stage, stage_agent=stage_agent),
        max_iterations=_last(
            agent.max_iterations, chain.max_iterations, stage.max_iterations, stage_agent.max_iterations
        )
        or defaults.max_iterations,
        servers=servers,
        server_instructions={server: text for server, text in told.items() if text},
        tool_filters=_tool_filters(selection),
        native_tools=_native_tools(model.provider, agent, selection),
        needs_native_tools=_needs_native_tools(agent, selection),
        summarizers=_summarizers(config, servers, model=model),
        control_level=strictest(config.safety.control_level, chain.control_level, stage_agent.control_level),
        safety_mode=config.safety.mode,
        skills=_skills(config, agent, more=stage_agent.skills, required=required),
        required_skills=required,
        sub_agents=_last(chain.sub_agents, stage.sub_agents, stage_agent.sub_agents) or (),
        sub_agent_limits=_sub_agent_limits(defaults, agent),
        budgets=resolve_budgets(config, chain),
    )


def resolve_chat(config: Config, chain: Chain, *, selection: McpSelection | None = None) -> ExecutionSettings:
    """Without servers of its own or of the chain, a chat has those of all stages together."""
    chat = chain.chat or Chat(enabled=True)
    agent = StageAgent(
        name=chat.agent or CHAT_AGENT,
        llm_provider=chat.llm_provider,
        llm_backend=chat.llm_backend,
        iteration_strategy=chat.iteration_strategy,
        mcp_servers=_last(_servers_of_stages(config, chain), chain.mcp_servers, chat.mcp_servers),
        max_iterations=chat.max_iterations,
        sub_agents=chat.sub_agents,
        control_level=chat.control_level,
    )
    stage = Stage(name="Chat", agents=(agent,))
    return resolve_execution(config, chain, stage=stage, stage_agent=agent, selection=selection)


def resolve_synthesis(config: Config, chain: Chain, *, stage: Stage) -> ExecutionSettings:
    synthesis = stage.synthesis or Synthesis()
    return _resolve_toolless(
        config,
        chain,
        agent=StageAgent(
            name=synthesis.agent or SYNTHESIS_AGENT,
            llm_provider=synthesis.llm_provider,
            llm_backend=synthesis.llm_backend,
            iteration_strategy=synthesis.iteration_strategy,
            fallback_providers=stage.fallback_providers,
            mcp_servers=(),
        ),
    )


def resolve_summary(config: Config, chain: Chain) -> ExecutionSettings:
    agent = StageAgent(name=SUMMARY_AGENT, llm_provider=chain.executive_summary_provider, mcp_servers=())
    return _resolve_toolless(config, chain, agent=agent)


def resolve_agent_type(config: Config, stage_agent: StageAgent) -> AgentType:
    """Of an agent that is gone, what the chain says of it."""
    return _agent_type(config.agents.get(stage_agent.name, Agent()), stage_agent)


def resolve_success_policy(config: Config, stage: Stage) -> SuccessPolicy:
    return stage.success_policy or config.defaults.success_policy


def resolve_budgets(config: Config, chain: Chain) -> Budgets:
    """One for all executions of a session; what the chain leaves open, the defaults say."""
    general = config.defaults.budgets.model_dump()
    return Budgets.model_validate(general | chain.budgets.model_dump(exclude_none=True))


def _resolve_toolless(config: Config, chain: Chain, *, agent: StageAgent) -> ExecutionSettings:
    """For agents that answer once: they look nothing up, send for nobody, and need no form in which to act."""
    agent = agent.model_copy(update={"sub_agents": ()})
    settings = resolve_execution(config, chain, stage=Stage(name=agent.name, agents=(agent,)), stage_agent=agent)
    return replace(settings, native_tools=frozenset(), needs_native_tools=False, acts_in_text=False)


def _choose_model(config: Config, *, provider: str, backend: LlmBackend | None) -> ModelChoice:
    found = _find(config.providers, provider, what="LLM provider")
    return ModelChoice(provider_name=provider, provider=found, backend=backend or "langchain")


def _fallbacks(config: Config, chain: Chain, *, stage: Stage, stage_agent: StageAgent) -> tuple[ModelChoice, ...]:
    """The nearest list as a whole, in its order."""
    levels = (config.defaults, chain, stage, stage_agent)
    entries = _last(*(level.fallback_providers for level in levels)) or ()
    return tuple(_choose_model(config, provider=entry.provider, backend=entry.backend) for entry in entries)


def _backend(level: Defaults | Agent | Chain | StageAgent | Chat | Synthesis) -> LlmBackend | None:
    if level.llm_backend is not None:
        return level.llm_backend
    return None if level.iteration_strategy is None else _BACKENDS[level.iteration_strategy]


def _acts_in_text(*levels: Defaults | Agent | Chain | StageAgent) -> bool:
    """The older spelling of a level counts only where the newer one says nothing, as with the backend."""
    words = (level.llm_backend or level.iteration_strategy for level in levels)
    return _last(*words) == "react"


def _agent_type(agent: Agent, stage_agent: StageAgent) -> AgentType:
    """In the older spelling, a strategy made an agent one that synthesises."""
    strategy = stage_agent.iteration_strategy or agent.iteration_strategy or ""
    return stage_agent.type or agent.type or ("synthesis" if strategy.startswith("synthesis") else "")


def _pick_servers(
    agent: Agent, chain: Chain, *, stage: Stage, stage_agent: StageAgent, selection: McpSelection | None
) -> tuple[str, ...]:
    configured = _last(agent.mcp_servers, chain.mcp_servers, stage.mcp_servers, stage_agent.mcp_servers) or ()
    if selection is None or selection.servers is None:
        return tuple(dict.fromkeys(configured))
    return tuple(dict.fromkeys(server.name for server in selection.servers))


def _servers_of_stages(config: Config, chain: Chain) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            server
            for stage in chain.stages
            for each in stage.agents
            for server in _pick_servers(
                _find(config.agents, each.name, what="agent"), chain, stage=stage, stage_agent=each, selection=None
            )
        )
    )


def _tool_filters(selection: McpSelection | None) -> dict[str, frozenset[str]]:
    if selection is None:
        return {}
    return {server.name: frozenset(server.tools) for server in selection.servers or () if server.tools}


def _native_tools(provider: Provider, agent: Agent, selection: McpSelection | None) -> frozenset[str]:
    if not isinstance(provider, GoogleProvider):
        return frozenset()
    said: dict[str, bool] = {}
    for word in (_UNLESS_SAID, provider.native_tools, agent.native_tools, _chosen_native(selection)):
        said |= word.model_dump(exclude_none=True)
    return frozenset(tool for tool, allowed in said.items() if allowed)


def _needs_native_tools(agent: Agent, selection: McpSelection | None) -> bool:
    asked = agent.native_tools.model_dump() | _chosen_native(selection).model_dump(exclude_none=True)
    return any(asked.values())


def _chosen_native(selection: McpSelection | None) -> NativeTools:
    return NativeTools() if selection is None else selection.native_tools


def _summarizers(config: Config, servers: Iterable[str], *, model: ModelChoice) -> dict[str, Summarizer]:
    chosen: dict[str, Summarizer] = {}
    general = config.defaults.summarization
    for name in servers:
        own = config.mcp_servers[name].summarization
        if own.enabled:
            provider = own.llm_provider or general.llm_provider or model.provider_name
            backend = own.llm_backend or general.llm_backend or model.backend
            chosen[name] = Summarizer(
                threshold_tokens=own.size_threshold_tokens,
                limit_tokens=own.summary_max_token_limit,
                model=_choose_model(config, provider=provider, backend=backend),
            )
    return chosen


def _skills(config: Config, agent: Agent, *, more: Iterable[str], required: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(config.skills) if agent.skills is None else (*agent.skills, *more)
    at_hand = set(required)
    return tuple(dict.fromkeys(skill for skill in wanted if skill not in at_hand))


def _sub_agent_limits(defaults: Defaults, agent: Agent) -> SubAgentLimits:
    general, own = defaults.orchestrator, agent.orchestrator
    return SubAgentLimits(
        max_concurrent_agents=own.max_concurrent_agents or general.max_concurrent_agents,
        agent_timeout=own.agent_timeout or general.agent_timeout,
        max_budget=own.max_budget or general.max_budget,
    )


def _last(*settings: Setting | None) -> Setting | None:
    """The nearest setting that was given."""
    return next((setting for setting in reversed(settings) if setting is not None), None)


def _find(entries: Mapping[str, Entry], name: str, *, what: str) -> Entry:
    if name not in entries:
        raise NotFound(what, name)
    return entries[name]
