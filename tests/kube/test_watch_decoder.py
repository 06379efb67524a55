"""The decoder of watch streams: any pieces, any garbage."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.errors import Reason, Unreachable
from fairlead.kube.errors import Asked
from fairlead.kube.watch import WatchDecoder, WatchEvent

ASKED = Asked("cluster west (http://x)", "x", "GET", "/api/v1/configmaps")

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
events = st.builds(
    lambda kind, obj: {"type": kind, "object": obj},
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]),
    st.dictionaries(st.text(), values, max_size=4),
)


def cut_up(data: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:end] for start, end in itertools.pairwise(bounds)]


def decode_all(pieces: list[bytes], **limits: int) -> list[WatchEvent]:
    decoder = WatchDecoder(ASKED, **limits)
    decoded = [event for piece in pieces for event in decoder.feed(piece)]
    decoder.finish()
    return decoded


@settings(deadline=None)  # a busy machine is no defect
@given(
    stream=st.lists(events, max_size=6),
    places=st.lists(st.integers(min_value=0), max_size=12),
    ascii_only=st.booleans(),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_any_pieces_of_a_stream_give_the_same_events(
    stream: list[dict[str, Any]], places: list[int], ascii_only: bool, end: str
) -> None:
    text = "".join(json.dumps(event, ensure_ascii=ascii_only) + end for event in stream)
    decoded = decode_all(cut_up(text.encode("utf-8", "surrogatepass"), places))
    assert [{"type": event.type, "object": event.object} for event in decoded] == stream


@settings(deadline=None)  # a busy machine is no defect
@given(
    garbage=st.binary(max_size=200)
    | st.lists(
        st.sampled_from([b'{"type":', b'"ADDED"', b"}", b"{", b"[", b"\n", b"1", b"\xff"])
    ).map(b"".join),
    places=st.lists(st.integers(min_value=0), max_size=5),
)
def test_any_garbage_gives_events_or_a_bad_answer_and_nothing_else(
    garbage: bytes, places: list[int]
) -> None:
    refused: Unreachable | None = None
    decoded: list[WatchEvent] = []
    try:
        decoded = decode_all(cut_up(garbage, places))
    except Unreachable as error:
        refused = error
    assert all(isinstance(event, WatchEvent) for event in decoded)
    assert refused is None or refused.reason is Reason.BAD_ANSWER


@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_what_came_before_garbage_is_still_delivered(pieces: int) -> None:
    good = b'{"type":"ADDED","object":{"n":1}}\n{"type":"ADDED","object":{"n":2}}\n'
    data = good + b"<html>gateway timeout</html>\n"
    decoder = WatchDecoder(ASKED)
    got: list[WatchEvent] = []

    def feed_all() -> None:
        for piece in (*cut_up(data, [n * len(data) // pieces for n in range(pieces)]), b""):
            got.extend(decoder.feed(piece))

    with pytest.raises(Unreachable, match="no watch event"):
        feed_all()
    assert [event.object for event in got] == [{"n": 1}, {"n": 2}]


def test_an_unknown_type_of_event_is_a_bad_answer() -> None:
    with pytest.raises(Unreachable, match="no watch event"):
        decode_all([b'{"type":"RENAMED","object":{}}\n'])


def test_nesting_without_end_is_a_bad_answer() -> None:
    with pytest.raises(Unreachable):
        decode_all([b'{"type":"ADDED","object":' + b'{"a":' * 100_000 + b"\n"])


def test_a_line_without_end_is_refused_before_it_fills_the_memory() -> None:
    with pytest.raises(Unreachable, match="more than 1000 bytes"):
        decode_all([b"x" * 200] * 10, max_event=1000)


def test_a_stream_that_ends_within_an_event_is_no_clean_end() -> None:
    with pytest.raises(Unreachable, match="in the middle of an event"):
        decode_all([b'{"type":"ADDED","object":{}}\n{"type":'])
