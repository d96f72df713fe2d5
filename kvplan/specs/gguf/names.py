"""What a GGUF tensor is for, by its name.

Source: llama.cpp b11434 src/llama-arch.cpp, LLM_TENSOR_NAMES.
"""

import re
from typing import NamedTuple

from kvplan.core.roles import Role

_BLOCK = re.compile(r"((?:enc\.|dec\.)?blk)\.(\d{1,9})\.(.+)")
_NORM = re.compile(r"(^|_)norm(_|$|s$)|_ln$")
_EXPERT = re.compile(r"_(ch)?exps$|^ffn_(gate|down|up)\.\d+$")

# towers that some tools keep in the model's own file: all that is in them is that
_TOWERS: dict[str, Role] = {"v": "vision", "a": "audio", "mm": "projector"}
# the first part that a name begins with decides
_ROLES: tuple[tuple[tuple[str, ...], Role], ...] = (
    (("token_embd", "position_embd", "token_types", "per_layer_token_embd"), "embedding"),
    (("indexer",), "indexer"),
    (("attn_res_score", "ffn_res_score"), "other"),
    (("attn_", "cross_attn_"), "attention"),
    (("ssm_", "time_mix_", "shortconv."), "mixer"),
    (("ffn_gate_inp", "exp_probs_b", "ffn_gate_tid2eid"), "router"),
    (("ffn", "channel_mix_"), "mlp"),
    (("vis_",), "vision"),
)


class Place(NamedTuple):
    """Where a tensor stands: ``stack`` is ``blk``, ``enc.blk``, ``dec.blk``, or empty outside the blocks, where ``block`` is -1."""

    stack: str
    block: int
    name: str


def place(name: str) -> Place:
    """The stack, the block and the name inside it of the tensor ``name``."""
    found = _BLOCK.fullmatch(name)
    return Place(found[1], int(found[2]), found[3]) if found else Place("", -1, name)


def role(name: str) -> Role:
    """What the tensor ``name``, without its block, is for."""
    tower = _TOWERS.get(name.partition(".")[0])
    if tower is not None:
        return tower
    stem = name.rpartition(".")[0] if name.endswith((".weight", ".bias", ".scale", ".input_scale")) else name
    if _NORM.search(stem):
        return "norm"
    if stem == "output":
        return "lm_head"
    if stem.endswith("_shexp"):
        return "shared_expert"
    if _EXPERT.search(stem):
        return "expert"
    return next((role for heads, role in _ROLES if stem.startswith(heads)), "other")
