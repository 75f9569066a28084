"""Who may decide: whoever shows the approver's secret, on this machine as well as from elsewhere."""

import hmac
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPBearer

from midwatch.api.author import NOBODY, read_author
from midwatch.domain.errors import Unauthenticated

APPROVER = "approver"
_SCHEME = "bearer"
_DESCRIBED = HTTPBearer(
    auto_error=False,
    scheme_name="approver",
    description="The content of `approver.token` in `MIDWATCH_HOME`",
)


@dataclass(frozen=True, slots=True)
class ApproverSecret:
    token: str | None
    """None: nobody is let in."""

    def __repr__(self) -> str:
        return "ApproverSecret()"

    def admits(self, header: str | None) -> bool:
        scheme, _, given = (header or "").partition(" ")
        if self.token is None or scheme.lower() != _SCHEME:
            return False
        return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.token.encode())


def shows_secret(request: Request) -> bool:
    secret: ApproverSecret = request.state.approver
    return secret.admits(request.headers.get("authorization"))


def require_secret(request: Request, *, doing: str) -> None:
    """Raises Unauthenticated."""
    if not shows_secret(request):
        raise Unauthenticated(f"{doing} needs the approver's secret: send it as Authorization: Bearer <token>")


async def _read_approver(request: Request, _: Annotated[object, Security(_DESCRIBED)]) -> str:
    """The name of whoever decides. Raises Unauthenticated."""
    require_secret(request, doing="deciding")
    author = read_author(request)
    return APPROVER if author == NOBODY else author


TheApprover = Annotated[str, Depends(_read_approver)]
