"""T5Gemma 2: Gemma 3's blocks as an encoder that also sees images and a decoder whose attention reads itself and the encoder at once.

Source: transformers 5.24 models/t5gemma2/modeling_t5gemma2.py (T5Gemma2MergedAttention).
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import CrossAttention
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import layer_kinds, mixer
from kvplan.specs.parts.blocks import Groups, copies, embedding, lm_head, norm, periodic, vector
from kvplan.specs.parts.classic import Shape, assembled
from kvplan.specs.parts.decoder import Style
from kvplan.specs.parts.forms import NORMED_ROTATION
from kvplan.specs.parts.multimodal import any_tower
from kvplan.specs.parts.seq2seq import encoder, expect_whole, longest_input
from kvplan.specs.parts.t5gemma import block, read_shape, side
from kvplan.specs.parts.tower import part

MODEL_TYPES = ("t5gemma2",)

_CLASS: dict[str, object] = {
    "vocab_size": 262208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "max_position_embeddings": 131072,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
}
"""Defaults of T5Gemma2TextConfig and T5Gemma2DecoderConfig, which nested configs omit."""

_STYLE = Style(qk_norm="head")


def build(cfg: Config) -> ModelSpec:
    """One projection makes keys and values of both, so that the decoder's layers are as large as the encoder's."""
    expect_whole(cfg)
    source_cfg, target_cfg = side(cfg, "encoder").sub("text_config").with_defaults(_CLASS), side(cfg, "decoder").with_defaults(_CLASS)
    source, target = read_shape(source_cfg), read_shape(target_cfg)
    for key, ours, theirs in (("hidden_size", source.hidden, target.hidden), ("vocab_size", source.vocab, target.vocab)):
        if ours != theirs:
            raise target_cfg.error(key, f"expected the encoder's {ours}, found {theirs}")
    tied = cfg.flag("tie_word_embeddings", default=True)
    weights = (
        *_table(target),
        *norm("norm", target.hidden),
        *lm_head(target.vocab, target.hidden, tied=tied),
        *encoder(() if tied else _table(source), copies(block(source_cfg, source, _STYLE), source.n_layers), norm("norm", source.hidden)),
        *_images(side(cfg, "encoder"), source),
    )
    form = ActivationForm(rotary_dim=target.heads.head_dim, rope_tables=2, attention=NORMED_ROTATION)
    spec = assembled(target, _decoder_layers(target_cfg, target, source), weights, form)
    return spec._replace(caveats=(longest_input(source.max_ctx or 0),))


def _table(shape: Shape) -> Groups:
    """Token embeddings, and one for the token that ends an image."""
    return (*embedding(shape.vocab, shape.hidden), *vector("embed_tokens.eoi_embedding", shape.hidden, role="embedding"))


def _decoder_layers(cfg: Config, shape: Shape, source: Shape) -> list[Layer]:
    """Every ``sliding_window_pattern``-th layer sees everything, the others a window of the decoder's own tokens."""
    heads = shape.heads
    reads = CrossAttention(heads.n_heads, heads.n_kv_heads, heads.head_dim, source.max_ctx or 0)
    pattern = ("sliding_attention",) * (cfg.integer("sliding_window_pattern", most=MAX_LAYERS) - 1) + ("full_attention",)
    window, weights = cfg.optional_integer("sliding_window"), block(cfg, shape, _STYLE)
    kinds = layer_kinds(cfg, shape.n_layers, periodic(shape.n_layers, pattern))
    return [Layer((mixer(kind, heads, cfg, window=window), reads), (DenseFfn(shape.intermediate),), weights) for kind in kinds]


def _images(cfg: Config, shape: Shape) -> Groups:
    """The image encoder, and what brings its features to the text encoder's width."""
    vision = any_tower(cfg, default="siglip_vision_model")
    projection = vector("mm_input_projection_weight", vision.width * shape.hidden, role="projector")
    projector = (*projection, *norm("mm_soft_emb_norm", vision.width))
    return (*part("vision_tower", vision.groups, "vision"), *part("multi_modal_projector", projector, "projector"))
