"""The whole answer: pools of an estimate, what is saved, what is said."""

import json
from pathlib import Path

import pytest

import kvplan
from kvplan import perf
from kvplan.core.errors import KvplanError
from kvplan.estimator import Options, answer
from kvplan.perf.steps import prefill_flops
from kvplan.prefixes import of_chat, of_log
from kvplan.prefixes.asking import asked
from tests.prefixes.logs import RULES, chat, written


def test_by_hand(tmp_path: Path) -> None:
    found = kvplan.prefix(written(tmp_path, list(range(40)), list(range(40)), [*range(20), 99], list(range(33))), block=16)
    assert (found.n_requests, found.prompt_tokens, found.hit_tokens) == (4, 134, 0 + 32 + 16 + 32)
    assert found.hit_rate == found.endless_rate == 80 / 134
    assert found.warmth is not None
    assert found.warmth.distinct_tokens == 2 * 16
    assert found.thrash_tokens == 48  # the longest request takes three blocks
    assert [point.pool_tokens for point in found.curve] == [48, None]


def test_the_pool_is_what_the_estimate_leaves(tmp_path: Path) -> None:
    path = written(tmp_path, list(range(40)))
    found = kvplan.prefix(path, model="llama-3.1-8b", gpu="l4")
    capacity = kvplan.estimate("llama-3.1-8b", engine="vllm", gpu="l4").capacity
    assert capacity is not None
    assert capacity.n_blocks is not None
    assert found.pool is not None
    assert found.pool.best == (capacity.n_blocks - 1) * 16  # block 0 is nobody's
    assert found.pool.low < found.pool.best < found.pool.high
    assert found.serving.pool_from == "estimate"
    larger = kvplan.prefix(path, model="llama-3.1-8b", gpu="l4", block=32)
    assert larger.pool is not None
    assert larger.pool.best == (capacity.n_blocks - 1) * 16 // 32 * 32
    said = kvplan.prefix(path, model="llama-3.1-8b", gpu="l4", pool_tokens="1k")
    assert said.pool == (1024, 1024, 1024)


def test_layers_that_differ_take_a_block_for_each_group(tmp_path: Path) -> None:
    found = kvplan.prefix(written(tmp_path, list(range(40))), model="gpt-oss-20b", gpu="h100-sxm")
    assert found.serving.n_groups == 2
    capacity = kvplan.estimate("gpt-oss-20b", engine="vllm", gpu="h100-sxm").capacity
    assert capacity is not None
    assert capacity.n_blocks is not None
    assert found.pool is not None
    assert found.pool.best == (capacity.n_blocks - 1) // 2 * 16
    assert "KV655" in {finding.rule for finding in found.findings}


def test_what_is_saved(tmp_path: Path) -> None:
    tokens = list(range(2000))
    found = kvplan.prefix(written(tmp_path, tokens, [*tokens[:1600], *range(5000, 5400)]), model="llama-3.1-8b", gpu="l4")
    model = kvplan.load_model("llama-3.1-8b")
    moved = perf.traffic.traffic(model, perf.traffic.Shape("bfloat16"))
    assert found.savings.saved_flops == prefill_flops(moved, 0, 1600)
    assert found.savings.flops == 2 * prefill_flops(moved, 0, 2000)
    without, within = found.savings.without, found.savings.within
    assert without is not None
    assert within is not None
    assert without.mean.low < without.mean.best < without.mean.high
    assert without.p95 == pytest.approx(without.mean.best)  # both prompts are as long
    assert 0.55 < within.mean.best / without.mean.best < 0.65  # all of one, a fifth of the other
    assert within.p95 == pytest.approx(without.p95)


def test_a_model_alone_tells_of_operations_and_not_of_time(tmp_path: Path) -> None:
    found = kvplan.prefix(written(tmp_path, list(range(40)), list(range(40))), model="llama-3.1-8b")
    assert found.savings.flops is not None
    assert found.savings.without is None
    assert found.pool is None
    other = kvplan.prefix(written(tmp_path, list(range(40)), list(range(40))), model="llama-3.1-8b", engine="sglang", pool_tokens=100)
    assert other.savings.flops == found.savings.flops
    assert (other.serving.engine, other.hit_tokens, other.pool) == ("sglang", 39, (100, 100, 100))


SGLANG = ("python", "-m", "sglang.launch_server", "--model-path", "llama-3.1-8b")


@pytest.mark.parametrize(
    ("options", "hits", "limit"),
    [
        (Options(model="llama-3.1-8b", engine="sglang", gpu="l40s"), 39, 131072),
        (Options(command=(*SGLANG, "--context-length", "4k", "--page-size", "16"), gpu="l40s"), 32, 4000),
    ],
)
def test_the_pool_of_sglang_is_what_its_estimate_leaves(tmp_path: Path, options: Options, hits: int, limit: int) -> None:
    capacity = answer(options).capacity
    found = of_log(written(tmp_path, list(range(40)), list(range(40))), asked(options, {}))
    assert capacity is not None
    assert found.pool == capacity.kv_tokens
    assert (found.serving.block_tokens, found.serving.n_groups) == (capacity.block_tokens, 1)
    assert (found.hit_tokens, found.serving.limit_tokens) == (hits, limit)


def test_an_engine_that_is_told_to_keep_none() -> None:
    found = of_chat("turns=2,user=20,answer=30", asked(Options(command=(*SGLANG, "--disable-radix-cache"), gpu="l40s"), {}))
    assert [finding.hint for finding in found.findings if finding.rule == "KV656"] == ["leave out --disable-radix-cache"]


def rules(found: kvplan.Prefix) -> set[str]:
    return {finding.rule for finding in found.findings}


def test_what_is_said_of_a_log(tmp_path: Path) -> None:
    requests = [chat(RULES, "hi", time=time, model=model) for time, model in ((2, "a"), (1, "b"))]
    assert rules(kvplan.prefix(written(tmp_path, *requests))) == {"KV641", "KV643", "KV653", "KV657"}
    assert rules(kvplan.prefix(written(tmp_path, [1, 2], [1, 2]))) == set()
    assert rules(kvplan.prefix(written(tmp_path, {"x": 1}, [1, 2]), skip_bad=True)) == {"KV642"}
    assert rules(kvplan.prefix(written(tmp_path, [1] * 64, [1, 2]), pool_tokens=32)) == {"KV654"}


def test_beyond_what_the_model_was_made_for() -> None:
    assert "KV201" in rules(kvplan.prefix(chat="turns=3,user=2k,answer=100", model="llama-2-7b"))
    assert "KV201" in rules(kvplan.prefix(chat="turns=3,user=2k,answer=100", model="qwen3-8b", ctx="4k"))
    assert "KV201" not in rules(kvplan.prefix(chat="turns=3,user=2k,answer=100,system=0,keep=4k", model="llama-2-7b"))


def test_a_log_of_requests_that_are_all_too_long(tmp_path: Path) -> None:
    found = kvplan.prefix(written(tmp_path, [1] * 64), pool_tokens=32)
    assert (found.n_requests, found.n_too_long, found.hit_rate, found.curve, found.warmth) == (0, 1, 0.0, (), None)
    timed = kvplan.prefix(written(tmp_path, [1] * 64), pool_tokens=32, model="llama-3.1-8b", gpu="l4")
    assert timed.savings.within is None


def test_thrashing_is_said(tmp_path: Path) -> None:
    sessions = [[i] * 64 for i in range(4)]
    found = kvplan.prefix(written(tmp_path, *sessions, *sessions), pool_tokens=128)
    assert found.hit_tokens == 0
    assert found.endless_rate == 0.375  # 48 of 64 tokens, the second time
    assert found.thrash_tokens == 256 - 16
    assert "KV640" in rules(found)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"engine": "transformers"}, "keeps no prefix between calls"),
        ({"engine": "tgi"}, "what 'tgi' keeps of prefixes is not modeled"),
        ({"gpu": "l4"}, "no --model says"),
        ({"slots": 4}, "--slots are llama.cpp's"),
        ({"pool_tokens": 8}, "not one block of 16"),
        ({"pool_tokens": "x"}, "--pool-tokens: expected a whole number"),
        ({"rendering": "fancy"}, "expected plain or template"),
        ({"model": "llama-3.1-70b", "gpu": "l4"}, "leaves no room for a cache"),
        ({"model": "llama-3.1-70b", "gpu": "l4", "engine": "sglang"}, "leaves no room for a cache"),
        ({"model": "llama-3.1-8bb"}, "unknown model"),
    ],
)
def test_what_can_t_be_answered(tmp_path: Path, options: dict[str, str], why: str) -> None:
    with pytest.raises(KvplanError) as raised:
        kvplan.prefix(written(tmp_path, [1, 2]), **options)  # type: ignore[arg-type]
    assert why in raised.value.message


def test_a_log_or_a_chat() -> None:
    with pytest.raises(TypeError, match="one of them"):
        kvplan.prefix()
    with pytest.raises(TypeError, match="one of them"):
        kvplan.prefix("log.jsonl", chat="turns=2")
    with pytest.raises(TypeError, match="'blocks'"):
        kvplan.prefix("log.jsonl", blocks=16)  # type: ignore[call-arg]


def test_slots_by_the_command_and_by_default(tmp_path: Path) -> None:
    path = written(tmp_path, [1, 2])
    assert kvplan.prefix(path, engine="llama.cpp").serving.n_slots == 4
    assert kvplan.prefix(path, engine="llama.cpp", slots=2).serving.n_slots == 2
    assert kvplan.prefix(path, engine="llama.cpp", model="llama-3.1-8b", batch=3).serving.n_slots == 3


def test_breaks_are_told_of_slots_too(tmp_path: Path) -> None:
    found = kvplan.prefix(written(tmp_path, *(chat(f"It is 08:0{i}. {RULES}", "hi") for i in range(4))), engine="llama.cpp")
    assert found.breaks is not None
    assert [told.cause.kind for told in found.breaks.causes] == ["timestamp"]


def test_an_answer_in_the_log_is_found_in_the_next_turn(tmp_path: Path) -> None:
    answer = "of course " * 20
    first, second = chat(RULES, "hi", answer=answer), chat(RULES, "hi", answer, "thanks")
    with_it = kvplan.prefix(written(tmp_path, first, second))
    without = kvplan.prefix(written(tmp_path, {key: value for key, value in first.items() if key != "answer"}, second))
    assert with_it.hit_tokens - without.hit_tokens >= len(answer) // 4 - 16


def test_the_tokens_of_a_log_are_the_same_each_time(tmp_path: Path) -> None:
    path = written(tmp_path, *(chat(f"It is 08:0{i}. {RULES}", "hi") for i in range(4)))
    assert json.dumps(kvplan.prefix(path)) == json.dumps(kvplan.prefix(path))
