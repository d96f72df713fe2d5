from array import array

from kvplan.replay import Slots


def serve(slots: Slots, *tokens: int, n_prompt: int | None = None) -> int:
    return slots.take(array("I", tokens).tobytes(), n_prompt or len(tokens))


def test_a_slot_keeps_its_last_prompt_and_answer() -> None:
    slots = Slots(1)
    assert serve(slots, 1, 2, 3, 4, n_prompt=3) == 0
    assert serve(slots, 1, 2, 3, 4, 5) == 4
    assert serve(slots, 1, 2, 3, 4, 5) == 4  # the last token is computed
    assert serve(slots, 1, 9) == 1
    assert serve(slots, 1, 2, 3, 4, 5) == 1


def test_a_request_takes_the_slot_that_is_most_like_it() -> None:
    slots = Slots(2)
    serve(slots, 1, 2, 3)
    serve(slots, 4, 5, 6)
    assert serve(slots, 1, 2, 3, 4) == 3
    assert serve(slots, 4, 5, 6, 7) == 3
    assert serve(slots, 8, 9) == 0  # takes the slot used longest ago
    assert serve(slots, 1, 2, 3, 4) == 0
    assert serve(slots, 8, 9, 10) == 2


def test_little_in_common_is_not_enough() -> None:
    slots = Slots(2)
    serve(slots, *range(20))
    serve(slots, 50, 51)
    assert serve(slots, 50, *range(100, 119)) == 0  # one of twenty tokens: the older slot is taken
    assert serve(slots, 50, 51, 52) == 2
