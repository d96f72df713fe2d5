import pytest

import kvplan
from kvplan.perf.traffic import Shape, traffic
from kvplan.specs import paper

HALF = Shape("bfloat16")


def test_a_dense_model_reads_all_but_its_embedding() -> None:
    model = kvplan.load_model("llama-3.1-8b")
    found = traffic(model, HALF)
    assert found.dense_bytes == 2 * (model.n_params - 128256 * 4096)
    assert found.token_flops + found.row_flops == 2 * (model.n_params - 128256 * 4096)
    (growth,) = found.growth
    assert growth.bytes_per_token == 32 * 2 * 8 * 128 * 2
    assert growth.pair_flops == 32 * 4 * 32 * 128
    assert growth.sharing == 4
    assert growth.heads == 32 * 32


def test_a_tied_head_is_read() -> None:
    model = kvplan.load_model("qwen3-4b")
    assert traffic(model, HALF).dense_bytes == 2 * model.n_params


def test_ranks_divide_weights_and_heads_as_far_as_there_are_any() -> None:
    model = kvplan.load_model("llama-3.1-8b")
    one, sixteen = traffic(model, HALF), traffic(model, HALF._replace(tp=16))
    assert sixteen.dense_bytes == one.dense_bytes / 16
    assert sixteen.growth[0].bytes_per_token == one.growth[0].bytes_per_token / 8
    assert sixteen.growth[0].pair_flops == one.growth[0].pair_flops / 16


def test_a_cache_in_fewer_bits_moves_less() -> None:
    model = kvplan.load_model("llama-3.1-8b")
    assert traffic(model, HALF._replace(key_bytes=1.0, value_bytes=0.5)).growth[0].bytes_per_token == 32 * 8 * 128 * 1.5


def test_experts_are_apart_and_a_token_visits_some() -> None:
    model = kvplan.load_model("mixtral-8x7b")
    found = traffic(model, HALF)
    assert (found.n_experts, found.n_active, found.n_moe_layers) == (8, 2, 32)
    assert found.expert_bytes == 2 * 32 * 8 * 3 * 4096 * 14336
    assert found.expert_flops == found.expert_bytes / 4


def test_scales_are_read_with_what_they_scale() -> None:
    model = kvplan.load_model("gpt-oss-20b")
    found = traffic(model, HALF)
    elements = 24 * 32 * 3 * 2880 * 2880
    assert found.expert_bytes == pytest.approx(elements * 17 / 32, rel=0.03)
    assert found.expert_packed == pytest.approx(elements, rel=0.01)
    assert found.dense_packed == 0


def test_packed_weights_are_counted() -> None:
    model = paper.requantized(kvplan.load_model("llama-3.1-8b"), "q4_k_m")
    assert traffic(model, Shape(model.stored_dtype)).dense_packed > 0.99 * 7.5e9


def test_windows_are_apart() -> None:
    windows = {growth.window_tokens for growth in traffic(kvplan.load_model("gemma-3-27b"), HALF).growth}
    assert windows == {1024, None}


def test_a_latent_is_read_whole_by_every_rank() -> None:
    model = kvplan.load_model("deepseek-v3")
    for tp in (1, 8):
        assert traffic(model, HALF._replace(tp=tp)).growth[0].bytes_per_token == 61 * 576 * 2


def test_an_indexer_bounds_what_is_read() -> None:
    assert {growth.window_tokens for growth in traffic(kvplan.load_model("deepseek-v3.2"), HALF).growth} == {2048}


def test_compressed_entries_stand_for_many_tokens() -> None:
    growth = traffic(kvplan.load_model("deepseek-v4-flash"), HALF).growth
    assert {one.window_tokens for one in growth} == {128, None}
    older = next(one for one in growth if one.window_tokens is None)
    assert older.bytes_per_token < sum(one.bytes_per_token for one in growth) / 4


def test_states_are_read_and_written_whatever_the_length() -> None:
    found = traffic(kvplan.load_model("qwen3.6-27b"), HALF)
    assert found.state_bytes == 48 * 48 * 128 * 128 * 4
    assert traffic(kvplan.load_model("mamba-130m"), HALF).growth == ()


def test_encoders_stay_out_of_a_step() -> None:
    model = kvplan.load_model("llava-1.5-7b")
    assert traffic(model, HALF).dense_bytes < 2 * 6.7e9
    whisper = kvplan.load_model("whisper-large-v3")
    encoder = sum(group.n_params for group in whisper.groups() if group.role == "encoder")
    assert traffic(whisper, HALF).dense_bytes <= 2 * (whisper.n_params - encoder)
