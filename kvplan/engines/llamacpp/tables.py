"""The tensor table that llama.cpp loads: a file's own, or that of a file converted from a model that is none."""

from kvplan.core.checkpoint import Tensor
from kvplan.core.model import Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.core.remembered import once
from kvplan.core.roles import TOWERS, Role

_NAMES = {
    **{"embed_tokens": "token_embd", "embed_positions": "position_embd", "embed_tokens_per_layer": "per_layer_token_embd"},
    **{"embed_layernorm": "token_embd_norm", "norm": "output_norm", "lm_head": "output"},
    **{"per_layer_model_projection": "per_layer_model_proj", "per_layer_projection_norm": "per_layer_proj_norm"},
}
_FEEDING = {"gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down"}
_ATTENTION = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
_ATTENDING = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output")
_GATED, _PLAIN = ("ffn_norm", "ffn_gate", "ffn_up", "ffn_down"), ("ffn_norm", "ffn_up", "ffn_down")


def tensors(model: ModelSpec) -> tuple[Tensor, ...]:
    """Every tensor of the file, in its order; of a model that is no GGUF file, one for each group of weights.

    Towers are not among them: convert_hf_to_gguf.py writes them into a file of their own, which ``--mmproj`` names.
    """
    if model.checkpoint is not None and model.checkpoint.format == "gguf":
        return model.checkpoint.tensors
    kept = (group for group in model.weights if not group.tied_to and group.role not in ("next_token", *TOWERS))
    found = [_tensor(group, "", model.stored_dtype) for group in kept]
    start = 0
    for run in model.runs:
        for i in range(start, start + run.n_layers):
            found += [_tensor(group, f"blk.{i}.", model.stored_dtype) for group in run.layer.weights if not group.tied_to]
        start += run.n_layers
    return tuple(found)


def _tensor(group: WeightGroup, prefix: str, stored: str) -> Tensor:
    """A group's tensors as one, under the name that llama.cpp has for it where it matters: for where it is kept, and for -ot."""
    module, _, kind = group.name.rpartition(".")
    name = f"{prefix}{_part(module, group.role) if prefix else _NAMES.get(module) or _plain(module)}.{kind}"
    shape = (group.cols, group.rows, group.n_copies) if group.n_copies > 1 else (group.cols, group.rows)
    return Tensor(name, group.dtype or stored, shape if group.cols > 1 else (group.rows * group.n_copies,), group.n_bytes(stored))


def _part(module: str, role: Role) -> str:
    """A module of a layer: its projections, those of experts, those of experts that every token meets."""
    last = module.rpartition(".")[2]
    if role == "attention":
        return _ATTENTION.get(last) or _plain(module)
    if role == "router":
        return "ffn_gate_inp"
    among = "_shexp" if "shared" in module else "_exps" if "experts" in module else ""
    return f"{_FEEDING[last]}{among}" if last in _FEEDING and role in ("mlp", "expert", "shared_expert", "scale") else _plain(module)


def _plain(module: str) -> str:
    return module.replace(".", "_")


@once
def n_blocks(model: ModelSpec) -> int:
    """Blocks of the file, next-token layers included; ``-ngl`` counts these, too."""
    if model.checkpoint is None or model.checkpoint.format != "gguf":
        return model.n_layers
    stacked = [int(parts[1]) for parts in (tensor.name.split(".", 2) for tensor in model.checkpoint.tensors) if parts[0] == "blk"]
    return max(max(stacked, default=-1) + 1, model.n_layers)


@once
def names(model: ModelSpec) -> tuple[frozenset[str], ...]:
    """The tensors of the layers of each run, without ``.weight``."""
    return tuple(_names(run) for run in model.runs)


def _names(run: LayerRun) -> frozenset[str]:
    """Of a model that is no GGUF file, what such layers have as a rule."""
    found = frozenset(group.name.removesuffix(".weight") for group in run.layer.weights)
    if any(name.startswith(("attn_", "ffn_", "ssm_", "time_mix_", "shortconv.")) for name in found):
        return found
    return frozenset((*(_ATTENDING if run.layer.mixers else ("attn_norm",)), *_feeds(run.layer)))


def _feeds(layer: Layer) -> tuple[str, ...]:
    gated = all(ffn.gated for ffn in layer.ffns)
    return (_GATED if gated else _PLAIN) if layer.ffns else ()
