"""What `midwatch` can do, as data, and the text of its help. Light enough to be read at every keystroke.

Nothing is imported here: `midwatch --help` is answered from this file alone.
"""

PROGRAM = "midwatch"
COMPLETION_VARIABLE = "_MIDWATCH_COMPLETE"

_SECTIONS = {
    "Start here": {
        "demo": ("midwatch.cli.demo:demo", "Watch an investigation of a made-up alert, right here."),
        "investigate": ("midwatch.cli.investigate:investigate", "Investigate one alert and print what was found."),
        "serve": ("midwatch.cli.serve:serve", "Serve the API and investigate alerts."),
        "llm-service": (
            "midwatch.cli.llm_service:llm_service",
            "Serve models to others, so that the keys stay here.",
        ),
    },
    "Decide": {
        "approvals": ("midwatch.cli.approvals:approvals", "Say yes or no to what agents want to do."),
        "stop": ("midwatch.cli.stop:stop", "Stop every change at once, or allow changes again."),
    },
    "Check": {
        "check-config": ("midwatch.cli.check_config:check_config", "Say what is wrong with a configuration."),
        "doctor": ("midwatch.cli.doctor:doctor", "Try out what you configured, and say what to do next."),
        "ledger": ("midwatch.cli.ledger:ledger", "Show what a session sent to models."),
        "tools": ("midwatch.cli.tools:tools", "Accept tools that have changed."),
        "classify": (
            "midwatch.cli.classify:classify",
            "Say whether a command only looks, or a call may run.",
        ),
        "mask": ("midwatch.cli.mask:mask", "Show what would be masked in a text."),
    },
    "Database": {
        "db": ("midwatch.cli.db:db", "Look at the database, or bring it up to date."),
    },
    "Shell": {
        "completion": ("midwatch.cli.completion:completion", "Print what makes the Tab key complete commands."),
    },
}

TARGETS = {name: target for section in _SECTIONS.values() for name, (target, _) in section.items()}
"""Where each command is: `module:attribute`."""
HELPS = {name: help_text for section in _SECTIONS.values() for name, (_, help_text) in section.items()}

_STORY = """\
Usage: midwatch [OPTIONS] COMMAND [ARGS]...

  Midwatch stands the night watch: an alert comes in, language-model agents
  find out what is behind it, and code decides which tools they may touch.

  First try:  midwatch demo    It needs no configuration, no key, no database.
"""
_OPTIONS = """\
Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

What a command takes:  midwatch COMMAND --help
"""


def render_help() -> str:
    width = max(map(len, HELPS))
    sections = [
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {text}" for name, (_, text) in section.items()), ""])
        for title, section in _SECTIONS.items()
    ]
    return "\n".join([_STORY, *sections, _OPTIONS])


def render_version() -> str:
    from midwatch import __version__

    return f"{PROGRAM} {__version__}\n"
