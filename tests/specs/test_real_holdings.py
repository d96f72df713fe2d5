"""What published checkpoints hold, by their headers."""

import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path

from kvplan.core.checkpoint import Tensor
from kvplan.core.dtypes import DTYPES
from kvplan.specs.build import build
from kvplan.specs.holdings import checkpoint_of
from tests.weights import entries, n_bytes


def deepseek_layer(config: Mapping[str, int], i: int) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """Name, dtype and shape of each tensor of one layer as DeepSeek-V3 is published, scales apart."""
    hidden, heads, kv_rank, q_rank = (config[key] for key in ("hidden_size", "num_attention_heads", "kv_lora_rank", "q_lora_rank"))
    rope, nope, values = config["qk_rope_head_dim"], config["qk_nope_head_dim"], config["v_head_dim"]
    n_experts, width = config["n_routed_experts"], config["moe_intermediate_size"]
    linears = {
        "self_attn.q_a_proj": (q_rank, hidden),
        "self_attn.q_b_proj": (heads * (nope + rope), q_rank),
        "self_attn.kv_a_proj_with_mqa": (kv_rank + rope, hidden),
        "self_attn.kv_b_proj": (heads * (nope + values), kv_rank),
        "self_attn.o_proj": (hidden, heads * values),
    }
    dense = i < config["first_k_dense_replace"]
    mlps = (
        {"mlp": config["intermediate_size"]}
        if dense
        else {f"mlp.experts.{n}": width for n in range(n_experts)} | {"mlp.shared_experts": width}
    )
    for mlp, inner in mlps.items():
        linears |= {f"{mlp}.gate_proj": (inner, hidden), f"{mlp}.up_proj": (inner, hidden), f"{mlp}.down_proj": (hidden, inner)}
    for name, (rows, cols) in linears.items():
        yield f"{name}.weight", "float8_e4m3fn", (rows, cols)
        yield f"{name}.weight_scale_inv", "float32", (-(-rows // 128), -(-cols // 128))
    sizes = {
        "input_layernorm": hidden,
        "post_attention_layernorm": hidden,
        "self_attn.q_a_layernorm": q_rank,
        "self_attn.kv_a_layernorm": kv_rank,
    }
    yield from ((f"{name}.weight", "bfloat16", (size,)) for name, size in sizes.items())
    if not dense:
        yield "mlp.gate.weight", "bfloat16", (n_experts, hidden)
        yield "mlp.gate.e_score_correction_bias", "float32", (n_experts,)


def test_next_token_layers_of_a_large_mixture(shared: Path) -> None:
    """Totals as published: 688,574,839,360 B, of which the model without its next-token layer takes 673,150,611,808."""
    path = shared / "hub" / "configs" / "deepseek-ai" / "DeepSeek-V3" / "config.json"
    config = json.loads(path.read_text())
    table, hidden = (config["vocab_size"], config["hidden_size"]), (config["hidden_size"],)
    last = f"model.layers.{config['num_hidden_layers']}"
    ends = {"model.embed_tokens.weight": table, "lm_head.weight": table, "model.norm.weight": hidden}
    ends |= {f"{last}.embed_tokens.weight": table, f"{last}.shared_head.head.weight": table, f"{last}.eh_proj.weight": (7168, 2 * 7168)}
    ends |= {f"{last}.{name}.weight": hidden for name in ("enorm", "hnorm", "shared_head.norm")}
    listed = [(name, "bfloat16", shape) for name, shape in ends.items()]
    for i in range(config["num_hidden_layers"] + 1):
        listed += [(f"model.layers.{i}.{name}", dtype, shape) for name, dtype, shape in deepseek_layer(config, i)]
    found = checkpoint_of(build(config, where=str(path)), [Tensor(*t, DTYPES[t[1]].row_bytes(prod(t[2]))) for t in listed], 163, 0)
    assert found.n_bytes == 688_574_839_360
    assert found.bytes_in("model") == 673_150_611_808
    assert found.bytes_in("model", "mtp") == found.n_bytes


def test_exact_layouts_of_real_repositories(shared: Path) -> None:
    n_layouts = 0
    for facts in sorted(shared.glob("hub/configs/*/*/.fakehub.json")):
        files = json.loads(facts.read_text()).get("virtual", {})
        layout = {name: (dtype, shape) for file in files.values() for name, (dtype, shape) in file.get("tensors", {}).items()}
        if not layout:
            continue
        spec = build(json.loads(facts.with_name("config.json").read_text()), where=str(facts))
        listed = [Tensor(name, dtype, tuple(shape), n_bytes(dtype, shape)) for name, (dtype, shape) in layout.items()]
        found = checkpoint_of(spec, listed, len(files), 0)
        end = max(offsets[1] for offsets in (entry["data_offsets"] for name, entry in entries(layout).items() if name != "__metadata__"))  # type: ignore[index]  # a header
        assert sum(holding.n_bytes for holding in found.holdings) == found.n_bytes == end
        assert sum(holding.n_tensors for holding in found.holdings) == len(layout)
        n_layouts += 1
    assert n_layouts >= 19
