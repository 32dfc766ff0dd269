"""The scheduler's queue, pool and retraction."""

from __future__ import annotations

from trials.box.batching import Group, Request


def request(rid: int, prompt: int = 100, new: int = 100, cached: int = 0) -> Request:
    return Request(rid, prompt, cached, new)


def test_admits_up_to_the_slots() -> None:
    group = Group(kv_tokens=100_000, slots=3, chunk=8192)
    for rid in range(5):
        group.add(request(rid))
    prefill = group.admit()
    assert prefill is not None
    assert [each.rid for each in prefill.requests] == [0, 1, 2]
    assert len(group.waiting) == 2


def test_a_prefill_batch_is_cut_at_the_chunk() -> None:
    group = Group(kv_tokens=100_000, slots=8, chunk=250)
    for rid in range(4):
        group.add(request(rid))
    prefill = group.admit()
    assert prefill is not None
    assert prefill.new_tokens == 200


def test_cached_tokens_need_no_prefill() -> None:
    group = Group(kv_tokens=100_000, slots=8, chunk=8192)
    group.add(request(0, prompt=100, cached=99))
    prefill = group.admit()
    assert prefill is not None
    assert (prefill.new_tokens, prefill.cached_tokens) == (1, 99)


def test_output_is_silently_cut_to_what_the_pool_can_hold() -> None:
    group = Group(kv_tokens=400, slots=8, chunk=8192)
    asked = request(0, prompt=390, new=300)
    group.add(asked)
    assert asked.max_new_tokens == 8


def test_a_full_pool_sends_the_youngest_back() -> None:
    group = Group(kv_tokens=400, slots=8, chunk=8192, conservativeness=0.1)
    for rid in range(3):
        group.add(request(rid, prompt=120, new=60))
    group.admit()
    for generated, running in zip((20, 10, 9), group.running, strict=True):
        running.generated = generated
    retraction = group.make_room(rows=1)
    assert retraction is not None
    assert (retraction.count, retraction.tokens_gained) == (1, 129)
    assert group.waiting[0].rid == 2
    assert group.waiting[0].retractions == 1


def test_room_is_made_for_every_drafted_row() -> None:
    group = Group(kv_tokens=250, slots=8, chunk=8192, conservativeness=0.0)
    for rid in range(2):
        group.add(request(rid, prompt=120, new=20))
    group.admit()
    assert group.make_room(rows=1) is None
    assert group.make_room(rows=8) is not None


def test_finished_and_dropped_requests_leave() -> None:
    group = Group(kv_tokens=10_000, slots=8, chunk=8192)
    for rid in range(3):
        group.add(request(rid, new=5))
    group.admit()
    group.running[0].generated = 5
    assert [each.rid for each in group.finish()] == [0]
    assert group.drop(1)
    assert not group.drop(99)
    assert [each.rid for each in group.running] == [2]
