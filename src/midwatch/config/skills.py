"""The `skills` folder beside the files: what agents can read up on, each a text with a name and a description."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import yaml

from midwatch.config.findings import Findings, Place

_FRONT = re.compile(r"\s*---[ \t]*\n(?P<front>.*?)\n---[ \t]*(?:\n(?P<body>.*))?", re.DOTALL)
_EXPECTED = "expected to begin with --- and lines for name and description, closed by another ---"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    name: str
    description: str
    body: str


def read_skills(folder: Path, *, findings: Findings) -> Mapping[str, Skill]:
    """`skills/<folder>/SKILL.md` and `skills/<file>.md`, by the names they give themselves."""
    skills: dict[str, Skill] = {}
    for path in _skill_files(folder / "skills"):
        place = Place(str(path.relative_to(folder)))
        skill = _read(path, place=place, findings=findings)
        if skill is None:
            continue
        if skill.name in skills:
            findings.problem(place, f'there is another skill with the name "{skill.name}"')
        skills.setdefault(skill.name, skill)
    return skills


def _skill_files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and (entry / "SKILL.md").is_file():
            yield entry / "SKILL.md"
        elif entry.is_file() and entry.suffix == ".md":
            yield entry


def _read(path: Path, *, place: Place, findings: Findings) -> Skill | None:
    try:
        parts = _FRONT.fullmatch(path.read_text(encoding="utf-8-sig").replace("\r\n", "\n"))
        front = yaml.safe_load(parts["front"]) if parts else None
    except (OSError, UnicodeDecodeError) as error:
        findings.problem(place, f"cannot be read ({type(error).__name__})")
        return None
    except (yaml.YAMLError, ValueError):
        front, parts = None, None
    if parts is None or not isinstance(front, dict):
        findings.problem(place, _EXPECTED)
        return None
    return _build(cast("dict[str, Any]", front), body=(parts["body"] or "").strip(), place=place, findings=findings)


def _build(front: dict[str, Any], *, body: str, place: Place, findings: Findings) -> Skill | None:
    name, description = (str(front.get(key) or "").strip() for key in ("name", "description"))
    if name and description:
        return Skill(name=name, description=description, body=body)
    findings.problem(place, f"{'description' if name else 'name'}: is missing")
    return None
