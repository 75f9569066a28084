"""How many tokens a text is likely to be. An estimate: no provider's own count is known before it answers."""

_CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    return -(-len(text) // _CHARACTERS_PER_TOKEN)


def fill_tokens(tokens: int) -> int:
    """How many characters are likely to be so many tokens."""
    return tokens * _CHARACTERS_PER_TOKEN
