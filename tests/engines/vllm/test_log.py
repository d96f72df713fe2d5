"""What is printed and refused, in the words of each version."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.core.model import ModelSpec
from kvplan.engines.vllm.deployment import Deployment
from tests.engines.vllm.resolving import LLAMA, LOAD, card, settled

POOL = "--kv-cache-memory-bytes 42949672960"
H100 = card("h100-sxm")


def deployed(flags: str = "", version: str = "0.33.0", model: ModelSpec = LLAMA, node: Node = H100) -> Deployment:
    return Deployment(model, settled(flags, version, model, node), node)


def texts(found: Deployment) -> list[str]:
    return [refusal.text for refusal in found.refusals]


def test_the_capacity_is_one_line_or_two() -> None:
    gemma = kvplan.load_model("gemma-3-27b")
    old, new = (deployed(f"{POOL} --max-model-len 4096", version, gemma).log_lines() for version in ("0.19.0", "0.33.0"))
    assert new == ("GPU KV cache size: 74,648 tokens, Maximum concurrency for 4,096 tokens per request: 18.22x",)
    assert old == ("GPU KV cache size: 74,896 tokens", "Maximum concurrency for 4,096 tokens per request: 18.22x")


def test_before_0_20_2_tokens_are_blocks_shared_among_groups() -> None:
    gemma = kvplan.load_model("gemma-3-27b")
    old, new = (deployed(f"{POOL} --max-model-len 4096", version, gemma).capacity(LOAD) for version in ("0.19.0", "0.33.0"))
    assert old is not None
    assert new is not None
    assert old.kv_tokens is not None
    assert new.kv_tokens is not None
    assert old.n_blocks == new.n_blocks == 32768
    assert (old.kv_tokens.best, new.kv_tokens.best) == (32768 // 7 * 16, 74_648)


def test_before_0_14_the_check_counted_layers() -> None:
    gemma = kvplan.load_model("gemma-3-27b")
    need = [deployed(f"{POOL} --max-model-len 4096", version, gemma) for version in ("0.12.0", "0.14.0")]
    by_layer, by_group = (found._cache.pool.needed_bytes(4096, 0) for found in need)
    assert by_layer == (52 * 257 + 10 * 256) * 131_072
    assert by_group == (6 * 257 + 256) * 10 * 131_072


@pytest.mark.parametrize(
    ("version", "text"),
    [
        pytest.param(
            "0.6.6", "The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV", id="V0"
        ),
        pytest.param("0.9.2", "To serve at least one request with the models's max seq len (4096), (2.0 GiB KV cache is needed", id="V1"),
        pytest.param("0.33.0", "To serve at least one request with the model's max seq len (4096), (2.0 GiB KV cache is needed", id="now"),
    ],
)
def test_the_words_are_those_of_the_version(version: str, text: str) -> None:
    assert texts(deployed("--kv-cache-memory-bytes 1073741824", version))[0].startswith(text)
