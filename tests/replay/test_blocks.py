"""A pool of blocks: cases by hand, and 500 random logs beside plain implementations, block for block."""

import random
from array import array
from collections.abc import Sequence

import pytest

from kvplan.replay import Blocks, Shape
from tests.replay.reference import Physical, Plain

BLOCKS = (1, 2, 4, 16)


def packed(tokens: Sequence[int]) -> bytes:
    return array("I", tokens).tobytes()


def serve(pool: Blocks, prompt: Sequence[int], answer: Sequence[int] = (), **more: int | str) -> int:
    kept = len(prompt) + max(0, len(answer) - 1)
    return pool.take(packed([*prompt, *answer]), len(prompt), kept, **more).hit_tokens  # type: ignore[arg-type]


def test_the_last_token_is_computed() -> None:
    pool = Blocks(Shape(4))
    assert serve(pool, range(8)) == 0
    assert serve(pool, range(8)) == 4  # not 8: the second block holds the last token
    assert serve(pool, range(9)) == 8
    assert serve(pool, range(7)) == 4
    assert serve(pool, range(3)) == 0  # no full block
    assert serve(pool, [0]) == 0


def test_a_block_is_known_by_what_stands_before_it() -> None:
    pool = Blocks(Shape(4))
    serve(pool, [0, 1, 2, 3, 4, 5, 6, 7, 8])
    assert serve(pool, [9, 1, 2, 3, 4, 5, 6, 7, 8]) == 0
    assert serve(pool, [0, 1, 2, 3, 9, 5, 6, 7, 8]) == 4


def test_an_answer_stays_but_for_its_last_token() -> None:
    pool = Blocks(Shape(4))
    serve(pool, range(6), range(6, 12))  # 11 tokens are kept: two full blocks
    assert serve(pool, range(20)) == 8
    assert serve(pool, range(21)) == 20  # all that the request before kept


def test_the_tail_of_the_oldest_request_goes_first() -> None:
    pool = Blocks(Shape(1, 6))
    serve(pool, [1, 2, 3, 4])
    serve(pool, [5, 6, 7])  # the pool holds six: 4 goes, of the first request its tail
    assert serve(pool, [1, 2, 3, 4]) == 3
    assert serve(pool, [5, 6, 7]) == 2  # 5 6 | 1 2 3 4: 7 went when 4 came back


def test_requests_apart_have_nothing_in_common() -> None:
    pool = Blocks(Shape(4))
    serve(pool, range(9), apart="salt")
    assert serve(pool, range(9)) == 0
    assert serve(pool, range(9), apart="salt") == 8


def test_what_a_pool_can_hold() -> None:
    assert Blocks(Shape(4)).fits(10**9)
    assert Blocks(Shape(4, 2)).fits(8)
    assert not Blocks(Shape(4, 2)).fits(9)


def test_sessions_by_name() -> None:
    pool = Blocks(Shape(4))
    serve(pool, [0] * 8 + [1] * 5, session=-2)
    serve(pool, [0] * 8 + [2] * 9, session=-3)
    assert pool.distinct() == (5, 2, 2)  # of 3 and 4 full blocks two are the same


def test_sessions_by_what_goes_on_with_what() -> None:
    pool = Blocks(Shape(2))
    serve(pool, [0, 0, 1, 1])
    serve(pool, [0, 0, 1, 1, 2, 2])  # the same session
    serve(pool, [0, 0, 3, 3])  # another one
    serve(pool, [0, 0, 3, 3])  # the same prompt again, by somebody else
    assert pool.distinct() == (4, 2, 2)
    assert pool.take(packed([0, 0, 3, 3, 4, 4]), 6, 6).session == 1  # of those who said the same, the first


def test_which_request_is_most_like_it() -> None:
    pool = Blocks(Shape(2))
    taken = [
        pool.take(packed(tokens), len(tokens), len(tokens)) for tokens in ([1, 1], [1, 1, 2, 2], [1, 1, 3, 3], [1, 1, 3, 3, 4, 4], [7, 7])
    ]
    assert [one.like for one in taken] == [None, 0, 1, 2, 3]
    assert [one.alike_tokens for one in taken] == [0, 2, 2, 4, 0]


def random_log(seed: int, block: int) -> list[tuple[list[int], list[int]]]:
    """Prompts that begin as earlier ones do, and answers, known or not; at most 6 blocks each."""
    made = random.Random(seed)
    log: list[tuple[list[int], list[int]]] = []
    for _ in range(made.randrange(1, 50)):
        before = [*log[made.randrange(len(log))]] if log and made.random() < 0.7 else [[], []]
        whole = before[0] + before[1]
        prompt = whole[: made.randrange(len(whole) + 1)] + [made.randrange(3) for _ in range(made.randrange(1, 3 * block + 1))]
        log.append((prompt[: 4 * block], [made.randrange(3) for _ in range(made.randrange(2 * block))]))
    return log


@pytest.mark.parametrize("first", range(0, 500, 100))
def test_500_random_logs_block_for_block(first: int) -> None:
    for seed in range(first, first + 100):
        made = random.Random(-seed)
        block, n_blocks = made.choice(BLOCKS), made.choice([None, made.randrange(6, 60)])
        fast, plain = Blocks(Shape(block, n_blocks)), Plain(block, n_blocks)
        for prompt, answer in random_log(seed, block):
            known = answer if made.random() < 0.5 else []
            kept = len(prompt) + max(0, len(answer) - 1)
            taken = fast.take(packed(prompt + known), len(prompt), kept)
            found = plain.take(prompt + known, len(prompt), kept)
            assert taken.hit_tokens == len(found) * block, seed
            assert found == [tuple(prompt[: (i + 1) * block]) for i in range(taken.hit_tokens // block)], seed


@pytest.mark.parametrize("first", range(0, 200, 100))
def test_random_logs_beside_an_engine_s_bookkeeping(first: int) -> None:
    """Where no block is computed a second time, which the engine then has twice: answers are new, prompts end within a block."""
    for seed in range(first, first + 100):
        made = random.Random(-seed)
        block, n_blocks = made.choice((2, 4, 16)), made.randrange(8, 60)
        fast, engine = Blocks(Shape(block, n_blocks)), Physical(block, n_blocks)
        new = 3
        for prompt, answer in random_log(seed, block):
            prompt = prompt if len(prompt) % block else prompt[:-1]
            answer = list(range(new, new + len(answer)))
            new += len(answer)
            kept = len(prompt) + max(0, len(answer) - 1)
            taken = fast.take(packed(prompt + answer), len(prompt), kept)
            assert taken.hit_tokens == len(engine.take(prompt, answer)) * block, seed


@pytest.mark.parametrize("seed", range(60))
def test_one_replay_tells_of_every_pool(seed: int) -> None:
    block = BLOCKS[seed % len(BLOCKS)]
    fast = Blocks(Shape(block))
    log = random_log(seed, block)
    for prompt, answer in log:
        serve(fast, prompt, answer)
    for n_blocks in (6, 7, 10, 20, 40, 1000):
        plain = Plain(block, n_blocks)
        hits = sum(len(plain.take(prompt + answer, len(prompt), len(prompt) + max(0, len(answer) - 1))) for prompt, answer in log)
        assert fast.curve.hits(n_blocks) == hits
    assert fast.curve.hits(10**6) == fast.curve.most
    for wanted in range(fast.curve.most + 1):
        least = fast.curve.least_pool(wanted)
        assert fast.curve.hits(least) >= wanted
        assert not wanted or fast.curve.hits(least - 1) < wanted


def test_thousands_of_uses() -> None:
    pool = Blocks(Shape(1, 10_000))
    for i in range(5000):
        serve(pool, [i, i])
    assert serve(pool, [0, 0]) == 1  # 4,999 requests of two blocks since
    assert serve(pool, [1, 1]) == 1
    smaller = Blocks(Shape(1, 9000))
    for i in range(5000):
        serve(smaller, [i, i])
    assert serve(smaller, [0, 0]) == 0
    assert smaller.curve.hits(9999) == 1
    assert smaller.curve.hits(9998) == 0
