"""What is said about where runbooks come from, before anything is fetched."""

import pytest

from tests.unit.config.folder import Folder

REPOSITORY = "system:\n  runbooks: {repo_url: https://github.com/ship/books}\n"


def test_a_repository_without_a_token_is_warned_of(folder: Folder) -> None:
    line = folder.add(REPOSITORY) + 1
    (warning,) = folder.load().warnings
    assert warning == (
        f"midwatch.yaml:{line}: system.runbooks.repo_url: variable GITHUB_TOKEN (system.github.token_env) is not set: "
        "GitHub shows no private runbooks and answers few questions"
    )


@pytest.mark.parametrize(
    ("text", "environ"),
    [
        (REPOSITORY, {"GITHUB_TOKEN": "t"}),
        (f"{REPOSITORY}  github: {{token_env: GH}}\n", {"GH": "t"}),
        ("system:\n  runbooks: {allow_private: true, allowed_domains: ['wiki:8080']}\n", {}),
    ],
)
def test_a_repository_with_its_token_is_not(folder: Folder, text: str, environ: dict[str, str]) -> None:
    folder.add(text)
    assert folder.load(**environ).warnings == ()


def test_a_repository_elsewhere_is_not_listed_and_that_is_said(folder: Folder) -> None:
    line = folder.add("system:\n  runbooks: {repo_url: https://gitlab.example/ship/books}\n") + 1
    (warning,) = folder.load(GITHUB_TOKEN="t").warnings
    assert warning == (
        f"midwatch.yaml:{line}: system.runbooks.repo_url: is not a folder on github.com, so no runbooks are listed"
    )
