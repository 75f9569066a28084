"""What a model is told of a tool: its server's own words, without the secrets among them."""

from dataclasses import replace

from midwatch.config.mcp import CustomPattern, DataMasking
from midwatch.domain.tools import ToolDefinition
from midwatch.tools.introduction import Introduction
from midwatch.tools.workbench import build_word_mask

TOKEN = "ghp_" + "a" * 36
SCHEMA = {
    "type": "object",
    "properties": {"password": {"type": "string", "description": "password: that of the user", "minLength": 6}},
    "required": ["password"],
}
PLAIN = ToolDefinition(server="deck", name="look", description="Asks for a token: any token", schema=SCHEMA)
TELLING = replace(
    PLAIN,
    description=f"Looks with {TOKEN}",
    schema={**SCHEMA, "default": {"password": TOKEN}, "examples": [TOKEN, 7], "$comment": "postgres://a:hunter22@db/x"},
)


def introduce(tool: ToolDefinition, masking: DataMasking | None = None) -> ToolDefinition:
    return Introduction(masks={"deck": build_word_mask(masking or DataMasking())})(tool)


def test_words_about_passwords_are_no_passwords() -> None:
    assert introduce(PLAIN) is PLAIN


def test_what_cannot_be_mistaken_is_hidden_wherever_it_stands_and_all_else_stays() -> None:
    told = introduce(TELLING)
    assert told.description == "Looks with [MASKED_GITHUB_TOKEN]"
    assert told.schema == {
        **SCHEMA,
        "default": {"password": "[MASKED_GITHUB_TOKEN]"},
        "examples": ["[MASKED_GITHUB_TOKEN]", 7],
        "$comment": "postgres://a:[MASKED_PASSWORD]@db/x",
    }


def test_a_definition_is_masked_once_and_a_new_one_anew() -> None:
    introduction = Introduction(masks={"deck": build_word_mask(DataMasking())})
    first = introduction(TELLING)
    assert introduction(TELLING) is first
    assert introduction(replace(TELLING, description="Now harmless")).description == "Now harmless"


def test_the_operators_own_patterns_count_and_so_does_a_written_no() -> None:
    pattern = CustomPattern(pattern="any token", replacement="[HIDDEN]", description="words")
    assert introduce(PLAIN, DataMasking(custom_patterns=(pattern,))).description == "Asks for a token: [HIDDEN]"
    assert introduce(TELLING, DataMasking(enabled=False)) is TELLING
