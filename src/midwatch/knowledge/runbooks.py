"""The runbook of an alert: the one that it names, or the general one. No investigation fails for want of it."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, final

import structlog

from midwatch.domain.errors import Unavailable
from midwatch.domain.runbook import Runbook, is_allowed, without_query
from midwatch.kit import json
from midwatch.knowledge.github import Folder, to_raw
from midwatch.knowledge.listing import list_markdown
from midwatch.knowledge.pages import Order, PageUnavailable
from midwatch.knowledge.shelf import Shelf
from midwatch.masking.mask import MaskedAlert
from midwatch.timeline.warnings import Warnings

_LONGEST_TEXT = 100_000
"""Characters; a longer one would leave the model no room for anything else."""
_LARGE = 256 * 1024
"""Characters from which on masking would hold up the event loop."""
_LARGEST_LIST = 8 * 1024 * 1024
_FAILURE_SECONDS = 15.0
"""For how long nobody tries again."""
_CATEGORY = "runbooks"

log = structlog.get_logger()


class Reader(Protocol):
    async def read(self, order: Order) -> str: ...


@final
class NoReader:
    """Fetches nothing."""

    async def read(self, order: Order) -> str:  # noqa: ARG002 - nothing is fetched
        raise PageUnavailable("runbooks are not fetched here")


def _hide_nothing(text: str) -> MaskedAlert:
    return MaskedAlert(text=text, skipped=())


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Runbooks:
    general: str = ""
    """What is used where an alert names none, or one that is not to be had."""
    mask: Callable[[str], MaskedAlert] = _hide_nothing
    reader: Reader = field(default_factory=NoReader)
    domains: Collection[str] = ()
    folder: Folder | None = None
    """Where those are that people may choose from."""
    seconds: float = 60.0
    """For how long what was fetched is kept."""
    warnings: Warnings = field(default_factory=Warnings)
    _pages: Shelf[Runbook] = field(default_factory=Shelf[Runbook])
    _lists: Shelf[Sequence[str]] = field(default_factory=Shelf[Sequence[str]])

    async def resolve(self, url: str | None) -> Runbook:
        """Masked. Never raises for one that cannot be had: then it is the general one, with a warning."""
        if not url:
            return Runbook(text=self.mask(self.general).text)
        return await self._pages.get(url, partial(self._fetch, url))

    async def list(self) -> Sequence[str]:
        """Addresses of the configured repository's runbooks; none when they cannot be had."""
        folder = self.folder
        return () if folder is None else await self._lists.get("", partial(self._fetch_list, folder))

    async def _fetch(self, url: str) -> tuple[Runbook, float]:
        shown = without_query(url)
        try:
            text = await self._read(url)
        except Unavailable as error:
            log.warning("runbook_unavailable", url=shown, reason=str(error))
            return self._miss(shown, str(error)), min(self.seconds, _FAILURE_SECONDS)
        except Exception as error:
            # The boundary of a page that anybody may have written: whatever is wrong with it, the alert is looked into.
            log.exception("runbook_failed", url=shown)
            return self._miss(shown, f"internal error ({type(error).__name__})"), min(self.seconds, _FAILURE_SECONDS)
        return await self._take(shown, text), self.seconds

    async def _read(self, url: str) -> str:
        may_visit = partial(is_allowed, domains=self.domains)
        if not may_visit(url):
            raise PageUnavailable("its domain is not allowed any more")
        return await self.reader.read(Order(url=to_raw(url), may_visit=may_visit))

    def _miss(self, shown: str, why: str) -> Runbook:
        return Runbook(
            text=self.mask(self.general).text, missed=shown, warning=f"runbook {shown} could not be read: {why}"
        )

    async def _take(self, shown: str, text: str) -> Runbook:
        masked = await asyncio.to_thread(self.mask, text) if len(text) > _LARGE else self.mask(text)
        told = [f"masking pattern {name} failed and was skipped" for name in masked.skipped]
        kept = masked.text
        if len(kept) > _LONGEST_TEXT:
            told.append(f"only its first {_LONGEST_TEXT} characters were used")
            kept = f"{kept[:_LONGEST_TEXT]}\n\n[The rest of the runbook was left out.]"
        return Runbook(text=kept, url=shown, warning=f"runbook {shown}: {'; '.join(told)}" if told else None)

    async def _fetch_list(self, folder: Folder) -> tuple[Sequence[str], float]:
        try:
            listed = await list_markdown(folder, self._read_json)
        except (Unavailable, ValueError) as error:
            # Of what was read nothing is repeated: it may say anything.
            why = str(error) if isinstance(error, Unavailable) else "GitHub's answer was not understood"
            log.warning("runbook_list_unavailable", reason=why)
            self.warnings.put_up(_CATEGORY, "the list of runbooks could not be read", details=why)
            return (), min(self.seconds, _FAILURE_SECONDS)
        self.warnings.take_down(_CATEGORY)
        return listed, self.seconds

    async def _read_json(self, url: str) -> object:
        order = Order(url=url, may_visit=_is_api, accept="application/vnd.github+json", limit=_LARGEST_LIST)
        return json.decode(await self.reader.read(order))


def _is_api(url: str) -> bool:
    return is_allowed(url, domains=("api.github.com",)) and url.startswith("https://")
