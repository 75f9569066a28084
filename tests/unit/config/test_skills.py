"""Skills beside the files: found in two places, named by themselves, told when they are unsound."""

from pathlib import Path

import pytest

from tests.unit.config.folder import Folder


def put(folder: Folder, name: str, text: str) -> None:
    path = folder.path / "skills" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_without_the_folder_there_are_none(folder: Folder) -> None:
    assert folder.load().skills == {}


def test_both_layouts_are_read(folder: Folder) -> None:
    put(folder, "anything/SKILL.md", "---\nname: net\ndescription: About nets\n---\n\n# Nets\n\n---\nmore\n")
    put(folder, "flat.md", "---\r\nname: flat\r\ndescription: Flat\r\n---\r\nbody")
    put(folder, "README.txt", "not one")
    put(folder, "empty/notes.md", "not one")
    skills = folder.load().skills
    assert set(skills) == {"net", "flat"}
    assert skills["net"].description == "About nets"
    assert skills["net"].body == "# Nets\n\n---\nmore"
    assert skills["flat"].body == "body"


def test_a_skill_may_be_asked_for_by_its_own_name(folder: Folder) -> None:
    put(folder, "x/SKILL.md", "---\nname: net\ndescription: d\n---\n")
    folder.change("mcp_servers: [logs]", "skills: [net]")
    assert folder.load().agents["Reader"].skills == ("net",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Nets", "expected to begin with --- and lines for name and description, closed by another ---"),
        (
            "---\nname: net\ndescription: d\n",
            "expected to begin with --- and lines for name and description, closed by another ---",
        ),
        ("---\n[\n---\n", "expected to begin with --- and lines for name and description, closed by another ---"),
        ("---\n- a\n---\n", "expected to begin with --- and lines for name and description, closed by another ---"),
        ("---\ndescription: d\n---\n", "name: is missing"),
        ("---\nname: net\n---\n", "description: is missing"),
    ],
)
def test_an_unsound_skill_is_told(folder: Folder, text: str, told: str) -> None:
    put(folder, "x/SKILL.md", text)
    assert folder.problems() == (f"{Path('skills/x/SKILL.md')}: {told}",)


def test_two_skills_must_not_share_a_name(folder: Folder) -> None:
    for name in ("a.md", "b.md"):
        put(folder, name, "---\nname: net\ndescription: d\n---\n")
    assert folder.problems() == ('skills/b.md: there is another skill with the name "net"',)


def test_a_skill_that_is_no_text_is_told(folder: Folder) -> None:
    put(folder, "a.md", "")
    (folder.path / "skills" / "a.md").write_bytes(b"\xff\xfe\xff")
    assert folder.problems() == ("skills/a.md: cannot be read (UnicodeDecodeError)",)
