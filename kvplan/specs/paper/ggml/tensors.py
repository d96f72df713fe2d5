"""A model's tensors as llama.cpp's quantizer sees them: what each is for.

Source: llama.cpp src/llama-quant.cpp at 007dbbf, tensor_get_category and tensor_allows_quantization.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kvplan.core.model import Layer, ModelSpec, WeightGroup

Place = Literal["head", "embedding", "value", "key", "query", "out", "down", "inner", "other"]

_ENDS: dict[str, Place] = {
    **dict.fromkeys(("v_proj", "in_proj_qkv", "qkv_proj", "kv_proj", "attn_v", "attn_qkv", "attn_kv_b"), "value"),
    **dict.fromkeys(("k_proj", "attn_k"), "key"),
    **dict.fromkeys(("q_proj", "attn_q"), "query"),
    **dict.fromkeys(("o_proj", "attn_output"), "out"),
    **dict.fromkeys(("down_proj", "output_linear", "ffn_down", "ffn_down_exps", "ffn_down_shexp"), "down"),
    **dict.fromkeys(("gate_proj", "up_proj", "gate_up_proj", "input_linear"), "inner"),
    **dict.fromkeys(("ffn_gate", "ffn_up", "ffn_gate_exps", "ffn_up_exps", "ffn_gate_shexp", "ffn_up_shexp"), "inner"),
}
_BEFORE_TOKENS = ("embed_tokens", "token_embd", "per_layer_token_embd")

# Families whose GGUF keeps queries, keys and values in one tensor, which the quantizer treats as it does values.
_FUSED = ("bloom", "chatglm", "codegen", "codeshell", "dbrx", "falcon", "gpt2", "gpt_bigcode", "gpt_neox", "mpt", "phi3", "phimoe", "qwen")


class Facts(NamedTuple):
    """What the quantizer asks of a whole model: heads to a KV head, experts, whether it is its 70B, what is tied and fused."""

    n_layers: int
    group: int
    n_experts: int
    is_70b: bool
    tied: bool
    fused: bool


def facts_of(spec: ModelSpec) -> Facts:
    """Source: llama-model.cpp, where 80 layers with grouped heads are called 70B; llama-hparams.cpp, n_gqa."""
    layers = [run.layer for run in (*spec.runs, *spec.mtp)]
    n_experts = max((ffn.n_experts for layer in layers for ffn in layer.ffns if ffn.kind == "moe"), default=0)
    group = next((n for layer in layers for n in _group(layer)), 0)
    return Facts(
        n_layers=spec.n_layers + sum(run.n_layers for run in spec.mtp),
        group=group,
        n_experts=n_experts,
        is_70b=spec.n_layers == 80 and group > 1 and n_experts == 0,
        tied=not any(group.role == "lm_head" and group.cols > 1 and not group.tied_to for group in spec.weights),
        fused=spec.model_type in _FUSED,
    )


def _group(layer: Layer) -> Iterator[int]:
    for mixer in layer.mixers:
        if mixer.kind in ("full", "sliding", "chunked"):
            yield mixer.n_heads // max(1, mixer.n_kv_heads)
        elif mixer.kind == "mla":
            yield mixer.n_heads  # a GGUF gives the latent one KV head


def place_of(group: WeightGroup, facts: Facts) -> Place | None:
    """What the tensor is for; None where it is never quantized."""
    stem = group.name.removesuffix(".weight")
    if group.role == "lm_head":
        return "head"
    if group.role == "embedding":
        return ("head" if facts.tied else "embedding") if stem.rpartition(".")[2].startswith(_BEFORE_TOKENS) else None
    named = stem != group.name or group.role == "expert"
    if group.role in ("router", "norm", "scale") or not named or "conv" in stem:
        return None
    end = _ENDS.get(stem.rpartition(".")[2], "other")
    if end == "other" and group.role == "attention" and stem.endswith("out_proj"):
        return "out"
    return "value" if facts.fused and end in ("query", "key") else end
