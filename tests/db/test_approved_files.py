"""A yes to a command is a yes to the files that decide what it does, as they were when a person was asked."""

import hashlib
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.config.mcp import Kinds
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from tests.asking import DONE, find_question, list_questions, live, look, looks, open_controlled, read_answer, say
from tests.fakes.openai_server import by_turn
from tests.lives import World
from tests.safety.requirements import requirement

KINDS = Kinds(read=("echo", "shell")).model_dump()


class Errand:
    """A script that leaves its mark, and an investigation that would run it."""

    def __init__(self, folder: Path) -> None:
        self.script = folder / "fix it.sh"
        self.mark = folder / "mark"
        self.effects = folder / "effects"
        self.write("clean")
        self.command = f"bash '{self.script}'"
        run = ScriptedTurn(
            text="I run it.", calls=(ScriptedCall(name="deck.shell", arguments={"command": self.command}),)
        )
        self.turns = by_turn([look("before"), run, look("after"), DONE])

    def write(self, mark: str) -> None:
        self.script.write_text(f"echo {mark} > '{self.mark}'\n", encoding="utf-8")

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.script.read_bytes()).hexdigest()


@pytest.fixture
def errand(tmp_path: Path) -> Errand:
    return Errand(tmp_path)


def list_commands(world: World) -> list[str]:
    return [each["command"] for each in looks(world, "shell")]


async def ask(world: World) -> UUID:
    session_id = await world.submit()
    await live(world)
    return session_id


@requirement("approval:files", "approval:shows-all")
async def test_an_approved_script_runs_as_it_was_when_a_person_was_asked(store: Store, errand: Errand) -> None:
    async with open_controlled(store, errand.effects, errand.turns, "--shell", "--runs", kinds=KINDS) as world:
        session_id = await ask(world)
        (question,) = await list_questions(store, session_id)
        shown = json.decode(question["request"])
        assert shown["files"] == [{"path": str(errand.script), "sha256": errand.digest}]
        assert not errand.mark.exists()
        await say(store, await find_question(store, session_id), yes=True)
        await live(world)
        assert await world.status(session_id) is SessionStatus.COMPLETED
        assert errand.mark.read_text(encoding="utf-8") == "clean\n"
        digesting = f"sha256sum -- '{errand.script}'"
        assert list_commands(world) == [digesting, digesting, errand.command]


@requirement("approval:files", "approval:whole-call")
async def test_a_script_that_was_changed_after_the_yes_does_not_run(store: Store, errand: Errand) -> None:
    async with open_controlled(store, errand.effects, errand.turns, "--shell", "--runs", kinds=KINDS) as world:
        session_id = await ask(world)
        await say(store, await find_question(store, session_id), yes=True)
        errand.write("foul")
        await live(world)
        (answer,) = await read_answer(store, session_id, "deck.shell")
        assert (answer["code"], answer["details"]["changed"]) == ("APPROVAL_STALE", ["files"])
        assert not errand.mark.exists()
        assert errand.command not in list_commands(world)


@requirement("approval:files")
async def test_nobody_is_asked_about_a_script_that_is_not_there(store: Store, errand: Errand) -> None:
    errand.script.unlink()
    async with open_controlled(store, errand.effects, errand.turns, "--shell", "--runs", kinds=KINDS) as world:
        session_id = await ask(world)
        assert await list_questions(store, session_id) == []
        (answer,) = await read_answer(store, session_id, "deck.shell")
        assert (answer["code"], answer["details"]["files"]) == ("NOT_APPROVABLE", [str(errand.script)])
        assert await world.status(session_id) is SessionStatus.COMPLETED
