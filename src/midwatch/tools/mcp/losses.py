"""How an exchange with a tool server can fail on the way. None of these texts holds an address or a secret."""


class ConnectionLost(Exception):
    """The connection broke, or could not be made, while a call was on its way.

    `comes_again`: asking once more would only end the same way.
    `sent`: something of the call may have reached the server, and nobody here knows what became of it.
    """

    def __init__(self, reason: str, *, comes_again: bool = False, sent: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.comes_again = comes_again
        self.sent = sent


class AnswerRefused(Exception):
    """The server answered, but not with what its protocol allows."""
