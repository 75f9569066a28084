"""Bytes told in terms of other bytes: always exact, and short where texts grow as conversations do."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from midwatch.kit.delta import RunningDigest, apply_delta, make_delta

MARK = b',"cache_control":{"type":"ephemeral"}'
ANY = st.binary(max_size=400)
PIECES = st.lists(st.sampled_from([b"a" * 90, b"b" * 70, bytes(range(100)), MARK, b"x", b""]), max_size=12).map(
    b"".join
)


@given(old=ANY | PIECES, new=ANY | PIECES)
def test_the_new_bytes_come_back_exactly(old: bytes, new: bytes) -> None:
    assert apply_delta(old, make_delta(old, new)) == new


@given(start=PIECES, old=PIECES, new=PIECES, end=PIECES)
def test_what_is_the_same_on_both_sides_is_not_spelt_out(start: bytes, old: bytes, new: bytes, end: bytes) -> None:
    delta = make_delta(start + old + end, start + new + end)
    assert apply_delta(start + old + end, delta) == start + new + end
    assert delta.shared_start >= len(start)


def say(number: int) -> bytes:
    return b'{"role":"user","content":"%05d %b"}' % (number, hashlib.sha256(b"%d" % number).hexdigest().encode() * 5)


def test_a_conversation_that_grows_costs_its_new_messages() -> None:
    tools = b'],"tools":[%b]}' % (b'{"name":"look"},' * 200)
    old = b'{"messages":[' + b",".join(map(say, range(300))) + tools
    new = b'{"messages":[' + b",".join(map(say, range(302))) + tools
    delta = make_delta(old, new)
    assert len(delta.literal) <= len(say(0) + say(0)) + 2
    assert apply_delta(old, delta) == new


def test_a_mark_that_moves_on_costs_nothing_of_what_lies_between() -> None:
    said = [say(number) for number in range(20)]
    old = b",".join([*said[:10], said[10][:-1] + MARK + b"}", *said[11:15], said[15][:-1] + MARK + b"}"]) + b"]}"
    new = b",".join([*said[:15], said[15][:-1] + MARK + b"}", *said[16:19], said[19][:-1] + MARK + b"}"]) + b"]}"
    delta = make_delta(old, new)
    assert apply_delta(old, delta) == new
    assert len(delta.literal) <= sum(map(len, said[16:20])) + len(MARK) + 4


def test_differences_are_found_wherever_they_are_in_long_bytes() -> None:
    old = bytes(200_000)
    for place in (0, 1, 65_535, 65_536, 65_537, 131_072, 199_999):
        new = old[:place] + b"!" + old[place + 1 :]
        delta = make_delta(old, new)
        assert apply_delta(old, delta) == new
        assert delta.shared_start == place
        assert len(delta.literal) <= 1 + 64


@given(st.lists(st.tuples(PIECES, PIECES), max_size=8))
def test_the_running_digest_is_the_whole_digest(bodies: list[tuple[bytes, bytes]]) -> None:
    running, old = RunningDigest(), b""
    for start, end in bodies:
        new = start + end
        shared = make_delta(old, new).shared_start
        assert running.digest(new, shared=shared) == hashlib.sha256(new).digest()
        old = new
