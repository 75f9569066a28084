"""A subscription that may hand its items over at once: whatever happens in between, they arrive once and in order."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from midwatch.kit.ids import new_id
from midwatch.timeline.hub import FeedItem, Subscription


@dataclass
class FakeSocket:
    """Takes texts while it is writable, as a transport with a full buffer does not."""

    writable: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[int] = field(default_factory=list[int])
    arrivals: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    at_once: int = 0

    def send_now(self, item: FeedItem) -> bool:
        if not self.writable.is_set():
            return False
        self.at_once += 1
        self._take(item)
        return True

    async def pump(self, subscription: Subscription) -> None:
        subscription.deliver = self.send_now
        while True:
            item = await subscription.next()
            assert isinstance(item, FeedItem)
            await self.writable.wait()
            self._take(item)

    def _take(self, item: FeedItem) -> None:
        self.sent.append(int(item.text))
        self.arrivals.release()


async def replay(steps: list[str]) -> tuple[FakeSocket, int]:
    socket = FakeSocket()
    subscription = Subscription(new_id(), position=0)
    offered = 0
    async with asyncio.TaskGroup() as group:
        pump = group.create_task(socket.pump(subscription))
        for step in [*steps, "unblock", "turn"]:
            match step:
                case "offer":
                    offered += 1
                    subscription.offer(FeedItem.of(offered, seq=None))  # pyright: ignore[reportArgumentType] -- a number is enough
                case "block":
                    socket.writable.clear()
                case "unblock":
                    socket.writable.set()
                case _:
                    await asyncio.sleep(0)
        async with asyncio.timeout(60):
            for _ in range(offered):
                await socket.arrivals.acquire()
        pump.cancel()
    return socket, offered


@given(st.lists(st.sampled_from(["offer", "block", "unblock", "turn"]), max_size=60))
async def test_items_arrive_once_and_in_order_whenever_the_socket_is_blocked(steps: list[str]) -> None:
    socket, offered = await replay(steps)
    assert socket.sent == list(range(1, offered + 1))


async def test_an_idle_reader_of_a_writable_socket_is_not_woken() -> None:
    socket, _ = await replay(["unblock", "turn", "turn", "offer", "offer", "offer"])
    assert (socket.sent, socket.at_once) == ([1, 2, 3], 3)
