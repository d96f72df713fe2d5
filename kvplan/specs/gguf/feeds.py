"""Feed-forwards of a GGUF file's layers: their widths are the tensors', and must be what the keys say.

Source: llama.cpp b11434 src/models/, load_arch_tensors.
"""

from kvplan.core.model import DenseFfn, Ffn, MoeFfn
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.weights import Block


def read_feeds(keys: Keys, i: int, block: Block) -> tuple[Ffn, ...]:
    """The mixture and the dense feed-forward of layer ``i``: either, both (Arctic, Grok), or none.

    Raises RequestError where tensors and keys disagree.
    """
    return tuple(ffn for ffn in (_moe(keys, i, block), _dense(keys, i, block), _channel_mix(block)) if ffn)


def _moe(keys: Keys, i: int, block: Block) -> MoeFfn | None:
    """Experts in one tensor, or, in old files, each in its own."""
    fused, first = block.get("ffn_down_exps.weight"), block.get("ffn_down.0.weight")
    down = fused or first
    if down is None:
        return None
    n_experts = keys.integer("expert_count")
    stacked = fused.shape[2] if fused and len(fused.shape) > 2 else sum(f"ffn_down.{j}.weight" in block for j in range(len(block)))
    if stacked != n_experts:
        raise keys.contradiction(down.name, f"expected {n_experts} experts (expert_count), found {stacked}")
    n_active = keys.per_layer("expert_used_count")[i]
    if not 1 <= n_active <= n_experts:
        raise keys.error("expert_used_count", f"expected a number from 1 to {n_experts}, found {n_active}")
    if keys.has("expert_feed_forward_length"):
        _expect_width(keys, down.name, down.shape[0], keys.per_layer("expert_feed_forward_length")[i])
    shared = block.get("ffn_down_shexp.weight")
    gated = any(name in block for name in ("ffn_gate_exps.weight", "ffn_gate_up_exps.weight", "ffn_gate.0.weight"))
    return MoeFfn(n_experts, n_active, down.shape[0], shared.shape[0] if shared else 0, gated)


def _dense(keys: Keys, i: int, block: Block) -> DenseFfn | None:
    down, up = block.get("ffn_down.weight"), block.get("ffn_up.weight")
    if down is None:
        return None
    width = down.shape[0]
    if keys.has("feed_forward_length"):
        _expect_width(keys, down.name, width, _said(keys, i))
    return DenseFfn(width, gated="ffn_gate.weight" in block or (up is not None and up.shape[-1] == 2 * width))


def _said(keys: Keys, i: int) -> int:
    """Qwen 1 counts both halves of its gated feed-forward; Arctic's dense one is as wide as the model."""
    width = keys.per_layer("feed_forward_length")[i]
    return {"qwen": width // 2, "arctic": keys.hidden}.get(keys.arch, width)


def _expect_width(keys: Keys, tensor: str, found: int, said: int) -> None:
    if said and found != said:
        raise keys.contradiction(tensor, f"expected a feed-forward of width {said} by the keys, found {found}")


def _channel_mix(block: Block) -> DenseFfn | None:
    """RWKV's, whose receptance gates the output and not the width."""
    key = block.get("channel_mix_key.weight")
    return DenseFfn(key.shape[-1], gated=False) if key else None
