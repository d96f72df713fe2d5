"""Moves by themselves: documented, sourced, and true to what they claim to lower."""

import pytest

from kvplan.core.ledger import Finding
from kvplan.estimator import Options
from kvplan.recommender.asking import cases
from kvplan.recommender.case import Case
from kvplan.recommender.moves import Move, moves
from kvplan.recommender.plan import KNOBS, Plan
from kvplan.recommender.request import Request
from kvplan.recommender.trial import Bench, Trial

MOVES = moves()
STARTS = [
    pytest.param("vllm serve qwen3-8b --max-num-seqs 64", {"gpu": "l4"}, id="vllm-l4"),
    pytest.param("vllm serve llama-3.1-70b --gpu-memory-utilization 0.8", {"gpu": "a100-80:4"}, id="vllm-4-a100"),
    pytest.param("vllm serve gemma-3-27b --gpu-memory-utilization 0.97", {"gpu": "h200"}, id="vllm-windows"),
    pytest.param("vllm serve qwen3-30b-a3b", {"gpu": "h100-sxm:2"}, id="vllm-experts"),
    pytest.param("llama-server -m llama-3.1-8b -c 65536 -np 4 -ngl 33", {"gpu": "rtx-4090", "ram": "32GiB"}, id="llama.cpp"),
    pytest.param("transformers qwen3-8b attn_implementation=eager", {"gpu": "l4", "ctx": "8k"}, id="transformers"),
    pytest.param("OLLAMA_NUM_PARALLEL=4 ollama run qwen3-8b num_ctx=16384", {"gpu": "rtx-4090"}, id="ollama"),
    pytest.param("llama-server -m qwen3-32b -c 32768 -np 2", {"gpu": "none", "ram": "64GiB"}, id="llama.cpp-cpu"),
]


def name(move: Move) -> str:
    return str(getattr(move, "__name__", "")).rpartition(".")[2]


def case(command: str, options: dict[str, str]) -> Case:
    return cases(Request(Options(command=tuple(command.split()), **options))).cases[0]


def lowered(move: Move, trial: Trial) -> int:
    assert trial.found is not None
    if move.LOWERS == "needed":
        return max(place.needed.best for place in trial.found.places)
    if move.LOWERS == "total":
        return trial.found.fullest.total.best
    return trial.short_bytes


@pytest.mark.parametrize("move", MOVES, ids=name)
def test_a_move_says_what_why_and_where_from(move: Move) -> None:
    doc = str(move.__doc__)
    assert len(doc.splitlines()[0]) > 40
    assert "Source: " in doc
    assert move.SOURCE
    assert set(move.KNOBS) <= set(KNOBS)
    assert move.LOWERS in ("needed", "total", "short", None)
    assert move.KNOBS or move.LOWERS is None


def test_the_advice_has_one_order() -> None:
    orders = [move.ORDER for move in MOVES]
    assert orders == sorted(set(orders))
    names = [name(move) for move in MOVES]
    told = ["shorten_context", "lower_concurrency", "weights_8bit", "cache_8bit", "weights_4bit"]
    assert [one for one in names if one in told] == told


@pytest.mark.parametrize("move", MOVES, ids=name)
@pytest.mark.parametrize(("command", "options"), STARTS)
def test_a_move_never_raises_what_it_claims_to_lower(move: Move, command: str, options: dict[str, str]) -> None:
    found = case(command, options)
    bench = Bench(found)
    before = bench.demand(found.start)
    last = None
    for plan in move.plans(found.start, found):
        assert {knob for knob in KNOBS if getattr(plan, knob) != getattr(found.start, knob)} <= set(move.KNOBS)
        after = bench.demand(plan)
        if after.found is None:
            continue
        assert move.LOWERS is None or lowered(move, after) <= lowered(move, before)
        last = plan
    if last is not None:
        assert all(isinstance(finding, Finding) for finding in move.said(found.start, last, found))


def test_the_cache_stays_in_16_bits_where_quality_is_the_goal() -> None:
    found = case("vllm serve qwen3-8b", {"gpu": "l4"})
    move = next(move for move in MOVES if name(move) == "cache_8bit")
    assert list(move.plans(found.start, found))
    assert not list(move.plans(found.start, found._replace(goal="quality")))


def test_no_context_beyond_the_models_limit() -> None:
    found = case("vllm serve qwen3-8b", {"gpu": "l4"})
    move = next(move for move in MOVES if name(move) == "model_limit")
    beyond = Plan(ctx_tokens=2**20, sequences=1)
    assert [plan.ctx_tokens for plan in move.plans(beyond, found)] == [40_960]
