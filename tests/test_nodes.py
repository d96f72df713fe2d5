"""Which nodes of the catalogue are proposed."""

import pytest

import kvplan
from kvplan.estimator import Estimate, Options, answer, nodes
from kvplan.hardware import catalog
from kvplan.render import text

LARGE = Options(ctx="32k", batch="64", engine="vllm")


def proposed(found: Estimate) -> list[tuple[int, str]]:
    return [(candidate.n_devices, candidate.gpu) for candidate in found.fits_on]


def test_single_cards_come_first() -> None:
    found = kvplan.estimate("llama-2-7b", ctx=4096, batch=8, engine="vllm")
    assert [n for n, _ in proposed(found)] == [1, 1, 1]
    sizes = [catalog.find(gpu).cuda_bytes for _, gpu in proposed(found)]
    assert sizes == sorted(sizes)


def test_then_nodes_of_equal_cards_by_their_memory() -> None:
    # 64 × 32k of Llama-3.1-70B: 131 GiB of weights and 640 GiB of cache, over eight cards 96 GiB each and what runs beside them
    found = answer(LARGE._replace(model="llama-3.1-70b"))
    assert len(proposed(found)) == 3
    assert {n for n, _ in proposed(found)} <= {4, 8}
    sizes = [n * catalog.find(gpu).cuda_bytes for n, gpu in proposed(found)]
    assert sizes == sorted(sizes)
    assert sizes[0] > 771 * 2**30


@pytest.mark.parametrize("gpu", [None, "h100-sxm", "l4:4"])
@pytest.mark.parametrize("model", ["llama-3.1-70b", "gemma-3-27b", "deepseek-v3"])
def test_what_is_proposed_fits_when_asked_for(model: str, gpu: str | None) -> None:
    found = answer(LARGE._replace(model=model, gpu=gpu))
    assert found.fits_on
    for candidate in found.fits_on:
        again = answer(LARGE._replace(model=model, gpu=candidate.gpu, gpus=str(candidate.n_devices)))
        assert (again.verdict, again.headroom_bytes, again.refusals) == ("fits", candidate.headroom_bytes, ())
        assert again.settings["tp"] == candidate.n_devices


def test_nothing_smaller_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    # every node tried one by one
    found = answer(LARGE._replace(model="gemma-3-27b"))
    monkeypatch.setattr(nodes, "fits_on", lambda *_: ())
    cards = catalog.candidates(0)
    several = sorted(((n, gpu) for n in (2, 4, 8) for gpu in cards), key=lambda at: at[0] * at[1].cuda_bytes)
    fitting: list[tuple[int, str]] = []
    for n, gpu in (*((1, gpu) for gpu in cards), *several):
        there = answer(LARGE._replace(model="gemma-3-27b", gpu=gpu.id, gpus=str(n)))
        if there.verdict == "fits" and there.settings["tp"] == n and not there.refusals:
            fitting.append((n, gpu.id))
        if len(fitting) == 3:
            break
    assert proposed(found) == fitting


def test_flags_that_say_how_many_cards_are_kept_to() -> None:
    alone = answer(Options(command=("vllm", "serve", "mixtral-8x7b"), ctx="4096"))
    assert {n for n, _ in proposed(alone)} == {1}
    pair = answer(Options(command=("vllm", "serve", "mixtral-8x7b", "-tp", "2"), ctx="4096"))
    assert {n for n, _ in proposed(pair)} == {2}
    asked = kvplan.estimate("mixtral-8x7b", ctx=4096, engine="vllm", tp=4)
    assert {n for n, _ in proposed(asked)} == {4}
    experts = kvplan.estimate("mixtral-8x7b", ctx=4096, engine="vllm", ep=2, gpu="rtx-4090:2")  # vLLM spreads experts over all or none
    assert {n for n, _ in proposed(experts)} == {2}


def test_an_engine_that_does_not_split_gets_single_cards() -> None:
    found = kvplan.estimate("mixtral-8x7b", ctx=4096)
    assert {n for n, _ in proposed(found)} == {1}
    assert proposed(kvplan.estimate("llama-3.1-70b", ctx=131072, batch=64)) == []


def test_what_no_card_cures() -> None:
    # Llama-2 was made for 4096 positions, and vLLM refuses more on any card
    found = kvplan.estimate("llama-2-7b", ctx=100_000, batch=64, engine="vllm", gpu="t4")
    assert found.refusals
    assert found.fits_on == ()


def test_cards_that_the_engine_refuses_are_passed_over() -> None:
    # a T4 has no bfloat16
    small = kvplan.estimate("qwen2.5-0.5b", ctx=512, engine="vllm")
    assert "t4" not in [gpu for _, gpu in proposed(small)]


def test_a_card_that_weights_only_pass_through_is_none_that_would_do() -> None:
    assert kvplan.estimate("llama-2-7b", ctx=4096).fits_on
    assert kvplan.estimate("llama-2-7b", ctx=4096, max_memory="0:5GiB,cpu:64GiB").fits_on == ()


def test_of_unequal_cards_the_one_that_is_short_is_spoken_of() -> None:
    split = kvplan.estimate("qwen2.5-14b", ctx=8192, gpu="rtx-4090+rtx-3060-12", max_memory="0:20GiB,1:10GiB,cpu:64GiB")
    assert split.verdict == "does_not_fit"
    assert split.fullest.place.id == "gpu1"
    assert (split.headroom_bytes or 0) < 0
    shown = text.estimate(split, explain=False, paint=lambda word, _: word)
    assert "does not fit on rtx-3060-12, one of 2 cards: 11.63 GiB usable, " in shown
    assert "GiB left" not in shown


def test_a_host_that_is_too_small_is_spoken_of_and_no_card_is_proposed() -> None:
    small = answer(Options(model="qwen3-32b:q4_k_m", gpu="rtx-3060-12", ram="8GiB", engine="llama.cpp", ctx="8192"))
    assert small.host_is_short
    shown = text.estimate(small, explain=False, paint=lambda word, _: word)
    assert "does not fit on the host: 8.00 GiB usable, " in shown
    assert "smallest that fit" not in shown
    assert "catalogue" not in shown
