"""What a tensor of a checkpoint is for, told by its name: mechanisms that many families name alike, never one model's.

Names are those of Transformers' modules and of the checkpoints that its loaders rename. A name is cut into its parent (the
modules above the layer's number, which tell towers from the language model), its module and its leaf.
"""

import re
from functools import lru_cache

from kvplan.core.checkpoint import Part
from kvplan.core.roles import Role

_NUMBER = re.compile(r"\d+")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d{1,9})\.")

_COMPUTED = re.compile(
    r"(inv_freq|(cos|sin)_cached|cached_(cos|sin)|masked_bias|position_ids|token_type_ids|attn_mask|causal_mask|relative_position_index"
    r"|final_logits_bias|version|_extra_state|num_batches_tracked|pos_idx_to_embed|(query|key|diagonal)_decay|slope_rate|summary_idxs)$"
)
"""Leaves that hold no learned values: engines compute them."""

_UNUSED = re.compile(r"encdecattention\.relative_attention_bias")
"""What early files hold and no modeling code reads: cross-attention has no positions."""

_KEPT = re.compile(
    r"(e_score_correction_bias|expert_bias|correction_bias|balancing_biases|tid#eid|running_(mean|var)|layer_scalar|global_(mean|invstd)|(in|out)put_(min|max)"
    r"|embed_avg|embed_sum|cluster_(size|usage)|inited|initialized)$|act_fn\.(beta|eps)$"
)
"""Leaves that are loaded and yet no parameters in most families."""

_SCALE = re.compile(
    r"(scales?|scale_inv|scale_#|zeros?|qzeros|zero_points?|g_idx|perm|scb|absmax|nested_absmax|quant_map|nested_quant_map|weight_shape"
    r"|weight_format|biases|inv_scale|amax|.*_(scales?|scale_inv|scale_#|zero_points?|amax|g_idx))"
)
"""Leaves beside quantized weights: AWQ and GPTQ, bitsandbytes, compressed-tensors, FP8, ModelOpt, MXFP4, MLX."""

_MTP = re.compile(r"(^|\.)(mtp|nextn|next_n)")
_TOWERS: tuple[tuple[Role, re.Pattern[str]], ...] = (
    (
        "projector",
        re.compile(
            r"projector|(vision|visual|image|img|audio|speech|language|text|modality)_(\w+_)?proj|mm_proj|connector|aligner|merger|resampler"
            r"|qformer|perceiver|embed_(vision|audio)"
        ),
    ),
    ("audio", re.compile(r"audio|speech|sound|whisper|conformer|codec|(^|\.)(encoder|decoder)_voice")),
    ("vision", re.compile(r"vision|visual|(^|[._])(vit|vqmodel|sam|siglip|clip|moonvit)|image|img|video|patch_|pixel")),
)
_ENCODER = re.compile(r"(^|\.)(text_)?encoder(\.|$)")

_ROLES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("norm", re.compile(r"(norm|norm_[#f]|norm#|_ln|ln_[^.]*|ln#?)$")),
    (
        "lm_head",
        re.compile(r"^(?!#)(.*\.)?(.*lm_head.*|embed_out|output|head|proj_out|output_projection|lm_loss|cls\.predictions.*|pred_layer.*)$"),
    ),
    ("indexer", re.compile(r"indexer")),
    ("shared_expert", re.compile(r"shared_expert|shared_mlp|residual_mlp")),
    (
        "router",
        re.compile(r"router|routing|(^|\.)(mlp|moe|ffn|feed_forward|block_sparse_moe|mixer)\.gate(\.wg)?$|moe_statics|gate_network"),
    ),
    ("expert", re.compile(r"expert")),
    ("mixer", re.compile(r"mamba|mixer|ssm|conv|linear_attn|time_mix|recurrent|temporal_block|delta|rwkv|(^|\.)kda")),
    ("attention", re.compile(r"att|(^|\.)(kv|[qkvo])_|qkv|query_key_value|(^|\.)sinks")),
    ("mlp", re.compile(r"mlp|ffn|ff_|feed_forward|channel_mix|fc|dense|(^|\.)w([io]|[io]_#|#)(\.|$)|(up|down|gate)_proj|(^|\.)layer$")),
    ("embedding", re.compile(r"embed|(^|\.)(wte|wpe|shared)$")),
)


def part_and_role(name: str, *, scales: bool = True, kept: bool = True) -> tuple[Part, Role]:
    """What the tensor ``name`` belongs to and does.

    Role ``scale`` is for what is no parameter: ``scales`` for leaves that stand beside quantized weights, ``kept`` for
    buffers that are loaded; where a model has parameters of such a name, these are False. Parts ``tied``, ``tower`` and
    layers behind the last depend on the model and are for the caller to tell.
    """
    return _told(pattern_of(name), scales, kept)


def pattern_of(name: str) -> str:
    """``name`` without its numbers: what all layers and experts have in common."""
    return _NUMBER.sub("#", name.lower())


def layer_of(name: str) -> int | None:
    """The number of the layer that the tensor ``name`` is in, None outside the layers."""
    found = _LAYER.search(name)
    return int(found[1]) if found else None


@lru_cache(maxsize=4096)
def _told(pattern: str, scales: bool, kept: bool) -> tuple[Part, Role]:  # noqa: FBT001  # keys of the cache
    module, _, leaf = pattern.rpartition(".")
    parent = pattern.partition("#")[0] if ".#." in pattern else pattern
    part: Part = "mtp" if _MTP.search(parent) else "model"
    if _COMPUTED.search(leaf) or _UNUSED.search(module):
        return "buffer", "other"
    if (kept and _KEPT.search(pattern)) or (scales and (_SCALE.fullmatch(leaf) or "quant_state." in pattern)):
        return part, "scale"
    tower = next((role for role, words in _TOWERS if words.search(parent)), None)
    if tower is not None:
        return part, tower
    if _ENCODER.search(parent):
        return part, "encoder"
    return part, of_module(module, leaf)


def of_module(module: str, leaf: str) -> Role:
    """What a tensor of the language model's own layers, or of its ends, does."""
    _, number, inside = module.partition("#.")
    below = f"{number}{inside}" if number else module
    for role, words in _ROLES:
        if words.search(below) or (leaf not in ("weight", "bias") and words.search(f"{below}.{leaf}")):
            return role
    return "other"
