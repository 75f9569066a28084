"""What is there without being written: the agents, the chain, the tool server and the providers that TARSy brings too.

An entry of the operator with the same name takes a built-in's place as a whole. With no folder at all, an agent looks
at this machine with the tool server that comes with Midwatch.
"""

import sys
from collections.abc import Mapping

from midwatch.config.agents import Agent, NativeTools
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.config.llm import (
    AnthropicProvider,
    DemoProvider,
    GoogleProvider,
    OpenAiProvider,
    Provider,
    VertexAiProvider,
    XaiProvider,
)
from midwatch.config.mcp import OURSELVES, DataMasking, Kinds, McpServer, StdioTransport

CHAT_AGENT = "ChatAgent"
SYNTHESIS_AGENT = "SynthesisAgent"
SUMMARY_AGENT = "ExecSummaryAgent"
SCORING_AGENT = "ScoringAgent"
KUBERNETES = "kubernetes"
"""The id of the built-in chain, and the alert type it takes. A chain of the operator may take the type under any id."""
HOST = "host"
DEMO = "demo"
"""The provider that needs nothing: no key, no network."""

HOST_TOOLS = (
    "overview",
    "load",
    "memory",
    "processes",
    "process",
    "disks",
    "mounts",
    "largest",
    "deleted_files",
    "ports",
    "connections",
    "services",
    "journal",
    "logs",
    "read_log",
    "kernel_messages",
    "containers",
    "container_logs",
)
"""The tools of our own server for this machine, each of which only reads."""

PROVIDERS_BY_KEY: Mapping[str, str] = {
    "OPENAI_API_KEY": "openai-default",
    "ANTHROPIC_API_KEY": "anthropic-default",
    "GOOGLE_API_KEY": "google-default",
    "XAI_API_KEY": "xai-default",
}
"""The provider that is taken without any configuration, by the variable that holds its key; the first that is set."""

_SYNTHESIS = """\
Several agents looked into the same alert, each on its own. Weigh what they found and write one analysis.
Trust what rests on tool output over what only repeats the alert, however sure it sounds. Where they disagree, say which
evidence decides, and name the agent it came from. When nobody got data from tools, say so and claim little."""
_RESEARCH = """\
You look things up on the public web. Search for questions; read a page when its address is given.
Name the source of every finding. When nothing useful turns up, say that."""
_CODE = "You answer by writing Python and running it. Show the code that led to the result."
_WORK = "Do the task you are given, completely, and report the result in few words."
_KUBERNETES_HINTS = """\
Reads Kubernetes clusters and cannot change them. With several contexts, list them first and say which one you use.
Ask within a namespace where you can. Nodes, namespaces, volumes and cluster roles belong to none."""

AGENTS: Mapping[str, Agent] = {
    "KubernetesAgent": Agent(
        description="Looks for the cause of a problem in a Kubernetes cluster", mcp_servers=("kubernetes-server",)
    ),
    CHAT_AGENT: Agent(description="Answers questions about an investigation"),
    SYNTHESIS_AGENT: Agent(
        type="synthesis", description="Makes one analysis of several", custom_instructions=_SYNTHESIS
    ),
    SUMMARY_AGENT: Agent(type="exec_summary", description="Sums an investigation up in a few lines"),
    SCORING_AGENT: Agent(type="scoring", description="Judges how good an investigation was"),
    "WebResearcher": Agent(
        description="Searches the public web and reads pages: documentation, repositories, advisories, release notes",
        custom_instructions=_RESEARCH,
        llm_backend="google-native",
        native_tools=NativeTools(google_search=True, url_context=True, code_execution=False),
    ),
    "CodeExecutor": Agent(
        description="Calculates and works through data by running Python code",
        custom_instructions=_CODE,
        llm_backend="google-native",
        native_tools=NativeTools(google_search=False, url_context=False, code_execution=True),
    ),
    "GeneralWorker": Agent(
        description="Thinks, compares and summarises when no special tools are needed", custom_instructions=_WORK
    ),
}

CHAINS: Mapping[str, Chain] = {
    KUBERNETES: Chain(
        alert_types=(KUBERNETES,),
        description="One agent looks into a Kubernetes cluster",
        stages=(Stage(name="analysis", agents=(StageAgent(name="KubernetesAgent"),)),),
    )
}

HOST_AGENTS: Mapping[str, Agent] = {
    "HostAgent": Agent(description="Looks at the machine it runs on", mcp_servers=("midwatch-host",))
}

HOST_CHAINS: Mapping[str, Chain] = {
    HOST: Chain(
        alert_types=(HOST,),
        description="One agent looks at this machine",
        stages=(Stage(name="look", agents=(StageAgent(name="HostAgent"),)),),
    )
}


def build_servers(environ: Mapping[str, str]) -> dict[str, McpServer]:
    kubeconfig = environ.get("KUBECONFIG")
    where = ("--kubeconfig", kubeconfig) if kubeconfig else ()
    return {
        "kubernetes-server": McpServer(
            transport=StdioTransport(
                type="stdio",
                command="npx",
                args=("-y", "kubernetes-mcp-server@0.0.54", "--read-only", "--disable-destructive", *where),
            ),
            instructions=_KUBERNETES_HINTS,
            # Vouched for by how it is started: under --read-only the server offers no tool that writes.
            kinds=Kinds(read=("*",)),
            data_masking=DataMasking(pattern_groups=("kubernetes",), patterns=("certificate", "token", "email")),
        )
    }


def build_host_servers() -> dict[str, McpServer]:
    return {
        "midwatch-host": McpServer(
            transport=StdioTransport(type="stdio", command=sys.executable, args=("-m", "midwatch.bundled.host")),
            instructions="Tells about the machine that Midwatch runs on.",
            # Named one by one: a tool that nobody has looked at counts as a write.
            kinds=Kinds(read=HOST_TOOLS),
            # Our own program, which only reads: as anybody else it would see little of the machine.
            run_as=OURSELVES,
            # Where a container runtime may listen.
            inherit_env=("DOCKER_HOST", "XDG_RUNTIME_DIR"),
        )
    }


def is_own(server: McpServer) -> bool:
    """Whether the server is part of Midwatch, and changes only with it."""
    own = build_host_servers()["midwatch-host"].transport
    match server.transport, own:
        case StdioTransport(command=command, args=args), StdioTransport() as ours:
            return command == ours.command and args[: len(ours.args)] == ours.args
        case _:
            return False


def _gemini(model: str, *, url_context: bool = True) -> GoogleProvider:
    tools = NativeTools(google_search=True, url_context=url_context, code_execution=False)
    return GoogleProvider(type="google", model=model, api_key_env="GOOGLE_API_KEY", native_tools=tools)


PROVIDERS: Mapping[str, Provider] = {
    DEMO: DemoProvider(type="demo"),
    "google-default": _gemini("gemini-3.7-flash"),
    "google-image-flash": _gemini("gemini-3.1-flash-image-preview", url_context=False),
    "gemini-3-flash": _gemini("gemini-3-flash-preview"),
    "gemini-3-pro": _gemini("gemini-3-pro-preview"),
    "gemini-3.1-pro": _gemini("gemini-3.1-pro-preview"),
    "gemini-3.1-flash": _gemini("gemini-3.1-flash-lite"),
    "gemini-3.5-flash": _gemini("gemini-3.5-flash"),
    "gemini-3.6-flash": _gemini("gemini-3.6-flash"),
    "gemini-3.7-flash": _gemini("gemini-3.7-flash"),
    "gemini-2.5-flash": _gemini("gemini-2.5-flash"),
    "gemini-2.5-pro": _gemini("gemini-2.5-pro"),
    "openai-default": OpenAiProvider(type="openai", model="gpt-5.2", api_key_env="OPENAI_API_KEY"),
    "anthropic-default": AnthropicProvider(type="anthropic", model="claude-sonnet-5", api_key_env="ANTHROPIC_API_KEY"),
    "xai-default": XaiProvider(type="xai", model="grok-4.6", api_key_env="XAI_API_KEY"),
    "vertexai-default": VertexAiProvider(
        type="vertexai",
        model="claude-sonnet-5",
        project_env="GOOGLE_CLOUD_PROJECT",
        location_env="GOOGLE_CLOUD_LOCATION",
    ),
}
