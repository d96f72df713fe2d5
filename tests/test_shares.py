"""What a model's weights are for: the shares of the roles, and what a checkpoint holds besides."""

import json

import pytest

import kvplan
from kvplan.core.checkpoint import Checkpoint, Holding
from kvplan.core.shares import by_role, stored_bytes
from kvplan.render import shares
from tests.running import Run


@pytest.mark.parametrize("name", ["mixtral-8x7b", "gemma-3-27b", "deepseek-v2-lite", "qwen3-next-80b-a3b", "gpt-oss-20b"])
def test_shares_sum_to_the_model(name: str) -> None:
    spec = kvplan.load_model(name)
    found = by_role(spec)
    assert sum(share.n_params for share in found) == spec.n_params
    assert sum(share.n_active for share in found) == spec.n_active_params
    assert sum(share.n_bytes for share in found) == spec.weight_bytes == stored_bytes(spec)


def test_bytes_stored_are_those_of_the_headers_where_a_quantized_model_has_them() -> None:
    holdings = (
        Holding("model", "scale", "bfloat16", 2, 10, 20),
        Holding("model", "expert", "uint8", 2, 300, 300),
        Holding("model", "expert", "bfloat16", 1, 50, 100),
        Holding("mtp", "expert", "uint8", 1, 7, 7),
        Holding("model", "other", "float32", 1, 1, 4),
    )
    files = Checkpoint("safetensors", "headers", n_files=1, file_bytes=500, n_bytes=431, holdings=holdings)
    spec = kvplan.load_model("gpt-oss-20b")._replace(checkpoint=files)
    sizes = {share.role: share.n_bytes for share in by_role(spec)}
    assert (sizes["expert"], sizes["scale"], sizes["other"], sizes["norm"]) == (400, 20, 4, 0)
    assert stored_bytes(spec) == sum(sizes.values()) == files.bytes_in("model")
    assert shares.by_role(spec)[-1].split() == ["total", f"{spec.n_params:,}", f"{spec.n_active_params:,}", "424"]
    plain = kvplan.load_model("llama-2-7b")._replace(checkpoint=files)
    assert stored_bytes(plain) == plain.weight_bytes  # as it will be loaded, whatever it lies there as


def test_active_experts_are_those_that_a_token_visits(kvplan: Run) -> None:
    # Jiang et al. 2024, arXiv:2401.04088 table 1: 2 of 8 experts of 14336, three projections of 4096, 32 layers
    detail = json.loads(kvplan("models", "mixtral-8x7b", "--json").out)["model"]
    (experts,) = [share for share in detail["shares"] if share["role"] == "expert"]
    assert experts["n_active"] == 32 * 2 * 3 * 4096 * 14336


def test_parts_are_named_with_their_bytes_and_types() -> None:
    held = Checkpoint(
        "safetensors",
        "headers",
        n_files=2,
        file_bytes=3 * 2**20,
        n_bytes=2400,
        holdings=(
            Holding("model", "mlp", "bfloat16", 2, 500, 1000),
            Holding("model", "mlp", "float8_e4m3fn", 2, 1200, 1200),
            Holding("mtp", "mlp", "bfloat16", 1, 100, 200),
        ),
    )
    spec = kvplan.load_model("llama-2-7b")._replace(checkpoint=held)
    assert shares.besides(spec) == [
        "2 safetensors files, 3.00 MiB",
        "  the model          2,200 B  float8_e4m3fn, bfloat16",
        "  next-token layers    200 B  bfloat16",
        "",
    ]
    assert shares.besides(spec._replace(checkpoint=held._replace(format="gguf")))[0] == "2 GGUF files, 3.00 MiB"
    by_size = spec._replace(checkpoint=held._replace(basis="file sizes", holdings=(), n_files=1))
    assert shares.besides(by_size) == ["1 safetensors file, 3.00 MiB; their headers were not read", ""]


def test_layers_that_are_not_run_are_said_to_be_stored() -> None:
    spec = kvplan.load_model("deepseek-v3")
    assert shares.besides(spec) == [f"its checkpoint also holds next-token layers, {spec.mtp_bytes:,} B", ""]
    assert shares.besides(spec._replace(mtp=())) == []
