"""What is missing, contradicts itself or is not known: refused by key or tensor name, or built with a warning."""

from collections.abc import Mapping

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.header import Header
from kvplan.specs.gguf.values import Skipped, Value
from tests.gguf.making import NORM, Shapes, blocks, header, tensor
from tests.gguf.test_archs import DELTA, HASHED, INDEXER, MLA, SSM, WINDOW
from tests.gguf.test_build import ATTENTION, DENSE, EXPERTS, KV2, MIXTURE


def refusal(made: Header) -> RequestError:
    with pytest.raises(RequestError) as caught:
        build(made, "small.gguf")
    return caught.value


KEYS: tuple[tuple[str, Mapping[str, Value], str], ...] = (
    ("llama", {"block_count": 0}, "llama.block_count: found 0, expected a whole number from 1"),
    ("llama", {"block_count": 10**6}, "llama.block_count: found 1000000"),
    ("llama", {"context_length": "long"}, "llama.context_length: found 'long'"),
    ("llama", {"context_length": True}, "llama.context_length: found True"),
    ("llama", {"attention.head_count": 0}, "llama.attention.head_count: expected at least one layer with heads"),
    ("llama", {"attention.head_count_kv": (2, 2)}, "llama.attention.head_count_kv: expected 4 numbers, one for each block, found 2"),
    ("llama", {"attention.head_count_kv": Skipped("int32", 5000)}, "expected 4 numbers, one for each block, found 5000"),
    ("llama", {"attention.head_count_kv": (2, 2, -1, 2)}, "llama.attention.head_count_kv: found -1"),
    ("llama", {"attention.head_count_kv": 3}, "expected a divisor of the 4 heads of block 0, found 3"),
    ("llama", {"attention.key_length": Skipped("int32", 5000)}, "found 5000 items of int32"),
    ("llama", {"nextn_predict_layers": 4}, "llama.nextn_predict_layers: expected fewer than block_count = 4, found 4"),
    ("llama", {"expert_count": 8}, "llama.expert_count: 8 experts, but no layer has tensors for them"),
    ("gpt-oss", {}, "gpt-oss.attention.sliding_window: missing"),
    ("mimo2", WINDOW, "mimo2.attention.sliding_window_pattern: missing"),
    ("gemma4", WINDOW, "gemma4.attention.sliding_window_pattern: missing"),
    ("gemma3", {**WINDOW, "attention.sliding_window_pattern": (True, False)}, "expected a truth value for each of 4 layers, found 2"),
    ("gemma3n", {**WINDOW, "attention.shared_kv_layers": 2, "attention.sliding_window_pattern": (True, True, True, False)}, "layer 3"),
    ("deepseek2", {**MLA, "attention.key_length": 41}, "deepseek2.attention.key_length: expected kv_lora_rank 32 + rope.dimension_count 8"),
    ("deepseek2", {**MLA, "attention.head_count_kv": 2}, "expected 1, the latent that all heads share, found 2 in block 0"),
    ("deepseek2", {"attention.key_length_mla": 24}, "deepseek2.attention.kv_lora_rank: missing"),
    ("deepseek32", MLA, "deepseek32.attention.indexer.head_count: missing"),
    ("hy_v4", {**MLA, **INDEXER}, "hy_v4.attention.indexer.types: missing"),
    ("dots3note", {**MLA, **INDEXER, "attention.indexer.types": 1}, "dots3note.attention.sliding_window_pattern: missing"),
    ("deepseek4", {**WINDOW, "attention.key_length": 32}, "deepseek4.attention.compress_ratios: expected a number for each of 4 blocks"),
    ("deepseek4", {**WINDOW, "attention.compress_ratios": (0, 4, 128, 7)}, "expected 0, 4 or 128, found 7"),
    ("mamba", {**SSM, "ssm.inner_size": "wide"}, "mamba.ssm.inner_size: found 'wide'"),
    ("mamba2", {**SSM, "ssm.inner_size": 129}, "mamba2.ssm.inner_size: expected a multiple of ssm.time_step_rank = 8, found 129"),
    ("qwen35", {**DELTA, "ssm.inner_size": 64}, "qwen35.ssm.inner_size: expected time_step_rank heads of state_size = 16"),
    ("qwen4exp", {**DELTA, **HASHED, "ple.layers": 1}, "qwen4exp.ple.layers: expected an array of numbers, found 1"),
    ("minimax-01", {"attention.head_count_kv": 0}, "minimax-01.attention.head_count_kv: expected heads in block 0"),
    ("rwkv6", {"wkv.head_size": 24}, "rwkv6.embedding_length: expected a multiple of wkv.head_size = 24, found 64"),
    ("t5", {"attention.head_count_kv": 0}, "t5.attention.head_count_kv: expected heads, found none"),
)


@pytest.mark.parametrize(("arch", "keys", "says"), KEYS, ids=[f"{i}-{case[0]}" for i, case in enumerate(KEYS)])
def test_keys(arch: str, keys: Mapping[str, Value], says: str) -> None:
    problem = refusal(header(arch, keys, blocks(4)))
    assert problem.kind == "bad_gguf"
    assert problem.message.startswith("small.gguf: ")
    assert says in problem.message


TENSORS: tuple[tuple[str, Mapping[str, Value], Shapes, str], ...] = (
    ("llama", KV2, {**ATTENTION, "attn_k.weight": (64, 48)}, "'blk.0.attn_k.weight': expected 32 rows by the keys, found 48"),
    ("llama", KV2, {**ATTENTION, "attn_q.weight": (64, 48)}, "'blk.0.attn_q.weight': expected 64 or 128 rows by the keys, found 48"),
    ("falcon", KV2, {"attn_qkv.weight": (64, 64)}, "'blk.0.attn_qkv.weight': expected 128 or 192 rows"),
    ("deepseek2", MLA, {"attn_kv_a_mqa.weight": (64, 32)}, "'blk.0.attn_kv_a_mqa.weight': expected 40 rows"),
    ("mamba", SSM, {"ssm_conv1d.weight": (4, 64)}, "'blk.0.ssm_conv1d.weight': expected 128 rows"),
    ("mamba2", SSM, {"ssm_conv1d.weight": (4, 64)}, "'blk.0.ssm_conv1d.weight': expected 192 rows"),
    (
        "deepseek4",
        {**WINDOW, "attention.key_length": 32, "attention.compress_ratios": (0,) * 4},
        {"attn_kv.weight": (64, 16)},
        "'blk.0.attn_kv.weight': expected 32 rows",
    ),
    ("llama", {"feed_forward_length": 128}, DENSE, "'blk.0.ffn_down.weight': expected a feed-forward of width 128 by the keys, found 96"),
    (
        "qwen3moe",
        {**MIXTURE, "expert_feed_forward_length": 32},
        EXPERTS,
        "'blk.0.ffn_down_exps.weight': expected a feed-forward of width 32",
    ),
    ("qwen3moe", {**MIXTURE, "expert_count": 8}, EXPERTS, "'blk.0.ffn_down_exps.weight': expected 8 experts (expert_count), found 6"),
    ("qwen3moe", {**MIXTURE, "expert_used_count": 7}, EXPERTS, "qwen3moe.expert_used_count: expected a number from 1 to 6, found 7"),
    ("qwen3moe", {}, EXPERTS, "qwen3moe.expert_count: missing"),
)


@pytest.mark.parametrize(("arch", "keys", "shapes", "says"), TENSORS, ids=[f"{i}-{case[0]}" for i, case in enumerate(TENSORS)])
def test_tensors(arch: str, keys: Mapping[str, Value], shapes: Shapes, says: str) -> None:
    problem = refusal(header(arch, keys, blocks(4, shapes)))
    assert problem.kind == "bad_gguf"
    assert says in problem.message


def test_tensors_outside_and_blocks() -> None:
    assert "'token_embd.weight': missing" in refusal(header("llama", KV2, blocks(4)[1:])).message
    narrow = (tensor("token_embd.weight", (32, 100)), *blocks(4)[1:])
    assert "expected rows of embedding_length = 64, found 32" in refusal(header("llama", KV2, narrow)).message
    short = (tensor("token_embd.weight", (64, 90)), *blocks(4)[1:])
    assert "expected 100 rows, the vocabulary, found 90" in refusal(header("llama", KV2, short)).message
    assert "'blk.4.attn_norm.weight': expected a block from 0 to 3" in refusal(header("llama", KV2, blocks(5))).message
    assert "'blk.3.*': missing" in refusal(header("llama", KV2, blocks(3))).message


def test_no_architecture() -> None:
    made = header("llama", KV2)
    assert "general.architecture: expected the architecture's name, found nothing" in refusal(made._replace(values={})).message
    assert "found 7" in refusal(made._replace(values={"general.architecture": 7})).message


def test_an_unknown_architecture_like_any_decoder() -> None:
    made = header("llamma", {**KV2, "feed_forward_length": 96}, blocks(4, {**ATTENTION, **DENSE}))
    spec = build(made, "small.gguf")
    assert [(caveat.rule, caveat.level) for caveat in spec.caveats] == [("KV021", "warning")]
    assert not spec.exact
    assert [(run.n_layers, [mixer.kind for mixer in run.layer.mixers]) for run in spec.runs] == [(4, ["full"])]


@pytest.mark.parametrize(
    ("keys", "shapes", "says"),
    [
        ({}, ATTENTION, "attention.head_count_kv missing"),
        ({**KV2, **WINDOW}, ATTENTION, "with what an ordinary decoder doesn't have (attention.sliding_window)"),
        (KV2, {**ATTENTION, "ssm_in.weight": (64, 64)}, "blk.0.ssm_in.weight"),
        (KV2, NORM, "without a tensor 'blk.0.attn_q.weight'"),
    ],
)
def test_an_unknown_architecture_that_may_be_anything(keys: Mapping[str, Value], shapes: Shapes, says: str) -> None:
    problem = refusal(header("llamma", keys, blocks(4, shapes)))
    assert (problem.kind, problem.hint) == ("unknown_architecture", "did you mean 'llama' or 'llama4' or 'llada'?")
    assert says in problem.message


def test_an_unknown_architecture_must_agree_with_itself() -> None:
    problem = refusal(header("llamma", KV2, blocks(4, {**ATTENTION, "attn_v.weight": (64, 48)})))
    assert "'blk.0.attn_v.weight': expected 32 rows by the keys, found 48" in problem.message


def test_what_is_no_language_model() -> None:
    assert refusal(header("clip", {})).kind == "no_model"
    assert "a draft head of another model" in refusal(header("eagle3", {})).message
