"""Twelve situations, each checked by hand: what comes first fits and would start, what is better by a step does not.

The arithmetic in each row: parameters × bits / 8 beside what the card gives.
"""

from typing import NamedTuple

import pytest

import kvplan
from kvplan.estimator import Options, answer
from kvplan.recommender import Proposal, Recommendation


class Situation(NamedTuple):
    """``first`` are words of the first command, ``better`` begins the reason why it is not more."""

    model: str
    options: dict[str, str]
    engine: str
    first: str
    better: str


SITUATIONS = [
    # 8.03e9 × 8.5 b = 7.95 GiB of 11.63; in 16 bits 14.96 GiB
    pytest.param(Situation("llama-3.1-8b", {"gpu": "rtx-3060-12"}, "llama.cpp", "-m llama-3.1-8b:q8_0", "weights in 16 bits"), id="3060"),
    # AWQ: 18.0 GiB of 23.51, 64 layers × 8 heads × 128 × 2 × 2 B = 256 KiB a token: 1 GiB for 4,096; in 16 bits 61 GiB
    pytest.param(
        Situation("qwen3-32b:awq", {"gpu": "rtx-4090", "engine": "vllm"}, "vllm", "--enforce-eager", "2 sequences"), id="4090-32b-4bit"
    ),
    # 8.19e9 × 2 B = 15.26 GiB of 0.92 × 22.03 = 20.27 GiB; 36 × 8 × 128 × 2 × 2 B × 4,096 = 0.56 GiB each
    pytest.param(Situation("qwen3-8b", {"gpu": "l4"}, "vllm", "--max-num-seqs 3", "4 sequences"), id="l4"),
    # 8.03e9 × 2 B = 14.96 GiB of 0.92 × 22.18 = 20.4 GiB; 32 × 8 × 128 × 2 × 2 B × 4,096 = 0.5 GiB each
    pytest.param(Situation("llama-3.1-8b", {"gpu": "a10g"}, "vllm", "--max-num-seqs 4", "5 sequences"), id="a10g"),
    # 14.96 GiB of weights are more than 14.56; no FP8 before Ampere: nf4, 9/16 B for each
    pytest.param(Situation("llama-3.1-8b", {"gpu": "t4"}, "vllm", "--quantization bitsandbytes", "weights in 16 bits"), id="t4"),
    # 70.6e9 B in FP8 = 65.7 GiB of 0.92 × 79.25 = 72.9 GiB; in 16 bits 131 GiB
    pytest.param(Situation("llama-3.1-70b", {"gpu": "a100-80"}, "vllm", "--quantization fp8", "weights in 16 bits"), id="a100-80-70b"),
    # 671e9 B in FP8 = 625 GiB of 8 × 79.19 = 633 GiB, with up-projections and the rest more: 79.6 GiB a card
    pytest.param(
        Situation("deepseek-v3", {"gpu": "h100-sxm:8"}, "vllm", "deepseek-v3:awq", "weights in 8.03 bits (stored)"), id="8-h100-deepseek-v3"
    ),
    # 27.4e9 × 2 B = 51 GiB of 0.92 × 139.8 = 128.6 GiB; 10 of 62 layers keep all 131,072 tokens: 10 × 16 × 128 × 2 × 2 B each = 10 GiB
    pytest.param(Situation("gemma-3-27b", {"gpu": "h200", "ctx": "128k"}, "vllm", "--max-num-seqs 6", "7 sequences"), id="h200-gemma-128k"),
    # 32.8e9 × 2 B = 61 GiB of 96
    pytest.param(Situation("qwen3-32b", {"gpu": "m4-max-128"}, "llama.cpp", "-m qwen3-32b:bf16", "nothing"), id="m4-max"),
    # 70.6e9 × 2 B = 131 GiB of 0.92 × 192 = 177 GiB; 80 × 8 × 128 × 2 × 2 B × 4,096 = 1.25 GiB each
    pytest.param(Situation("llama-3.1-70b", {"gpu": "mi300x"}, "vllm", "--max-num-seqs 31", "32 sequences"), id="mi300x"),
    # q8_0 as mapped file and as laid out again: 2 × 7.95 GiB are more than 12, q6_k is 6.14
    pytest.param(Situation("llama-3.1-8b", {"gpu": "none", "ram": "16GiB"}, "llama.cpp", "-m llama-3.1-8b:", ""), id="cpu"),
    # 32.8e9 × 6.56 b = 25.0 GiB of 23.51 + 11.63; × 8.5 b = 32.4 GiB leave no room for the rest
    pytest.param(
        Situation("qwen3-32b", {"gpu": "rtx-4090+rtx-3060-12"}, "llama.cpp", "-m qwen3-32b:q6_k", "weights in 8.5 bits"), id="unequal"
    ),
]


def fed_back(proposal: Proposal, options: dict[str, str]) -> bool:
    """Whether the command alone is estimated to start and to fit."""
    hardware = {key: value for key, value in options.items() if key in ("gpu", "ram")}
    found = answer(Options(command=proposal.command, **hardware))
    return not found.refusals and found.verdict == "fits"


@pytest.fixture(scope="module", params=SITUATIONS)
def asked(request: pytest.FixtureRequest) -> tuple[Situation, Recommendation]:
    situation: Situation = request.param
    return situation, kvplan.recommend(situation.model, **situation.options)


def test_the_first_proposal_is_the_expected_one(asked: tuple[Situation, Recommendation]) -> None:
    situation, found = asked
    assert found.proposals[0].found.engine == situation.engine
    assert situation.first in " ".join(found.proposals[0].command)


def test_every_proposal_fits_when_its_command_is_estimated_alone(asked: tuple[Situation, Recommendation]) -> None:
    situation, found = asked
    assert all(fed_back(proposal, situation.options) for proposal in found.proposals)
    assert all(proposal.headroom_bytes >= 0 for proposal in found.proposals)


def test_the_named_neighbor_does_not_fit(asked: tuple[Situation, Recommendation]) -> None:
    situation, found = asked
    assert situation.better in found.proposals[0].why
    hardware = {key: value for key, value in situation.options.items() if key in ("gpu", "ram")}
    for one in found.rejected if situation.better not in ("", "nothing") else ():
        plan = one.plan
        alone = answer(Options(command=one.command, ctx=str(plan.ctx_tokens), batch=str(plan.sequences), **hardware))
        assert alone.refusals or alone.verdict != "fits"
        return
    assert situation.better in ("", "nothing")
