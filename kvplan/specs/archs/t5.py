"""T5, mT5, umT5, LongT5 and Switch Transformers: relative positions as learned biases, heads of a width of their own.

Source: transformers 5.24 models/t5, mt5, umt5, longt5, switch_transformers; Raffel et al. 2019, arXiv:1910.10683 §2.1;
Guo et al. 2021, arXiv:2112.07916 §3; Fedus et al. 2021, arXiv:2101.03961 §2.
"""

from typing import Literal

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, DenseFfn, Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.attention import Heads
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.classic import Shape, assembled
from kvplan.specs.parts.decoder import Style, block_weights, max_ctx
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.seq2seq import cross_block, encoder, expect_whole, longest_input, shared_tables, stacked

MODEL_TYPES = ("t5", "mt5", "umt5", "longt5", "switch_transformers")

Side = Literal["encoder", "decoder"]

_TRAINED_TOKENS = {"t5": 512, "umt5": 512, "switch_transformers": 512, "mt5": 1024, "longt5": 4096}
"""Input length of pre-training, used where the config names none. Source: T5 §3.1.2, mT5 arXiv:2010.11934 §3.2, LongT5 §4.1."""


def build(cfg: Config) -> ModelSpec:
    """Positions have no limit; the encoder's output is counted at ``n_positions``, else at the length of pre-training."""
    expect_whole(cfg)
    model_type = cfg.text("model_type")
    limit = max_ctx(cfg)
    source_tokens = limit or _TRAINED_TOKENS[model_type]
    source, target = _shape(cfg, "encoder", limit), _shape(cfg, "decoder", limit)
    style = Style(gated=_gated(cfg, model_type))
    layers = [_decoder_layer(cfg, target, style, i, source_tokens) for i in range(target.n_layers)]
    tied = model_type != "switch_transformers" or cfg.flag("tie_word_embeddings", default=True)
    weights = (
        *shared_tables(target.vocab, target.hidden, tied=tied),
        *norm("norm", target.hidden),
        *encoder(stacked(_encoder_layer(cfg, source, style, i) for i in range(source.n_layers)), norm("norm", source.hidden)),
    )
    spec = assembled(target, layers, weights, ActivationForm())
    return spec._replace(caveats=_caveats(cfg, target, source_tokens, tied=tied, limited=limit is not None))


def _shape(cfg: Config, side: Side, limit: int | None) -> Shape:
    n_encoder, n_heads = cfg.integer("num_layers", "num_hidden_layers", most=MAX_LAYERS), cfg.integer("num_heads", "num_attention_heads")
    width = cfg.integer("d_kv", default=64)
    return Shape(
        hidden=cfg.integer("d_model", "hidden_size"),
        n_layers=n_encoder if side == "encoder" else cfg.integer("num_decoder_layers", default=n_encoder, most=MAX_LAYERS),
        heads=Heads(n_heads, n_heads, width, width),
        intermediate=cfg.integer("d_ff"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=limit,
    )


def _gated(cfg: Config, model_type: str) -> bool:
    """Whether ``feed_forward_proj`` asks for a gate; Switch Transformers know none."""
    if model_type == "switch_transformers":
        return False
    words = cfg.text("feed_forward_proj", default="gated-gelu" if model_type in ("mt5", "umt5") else "relu").split("-")
    if len(words) > 2 or (len(words) == 2 and words[0] != "gated"):
        raise cfg.error("feed_forward_proj", f"expected an activation or gated-ACTIVATION, found '{'-'.join(words)}'")
    return words[0] == "gated"


def _position_bias(cfg: Config, shape: Shape, index: int, side: Side) -> Groups:
    """One bias per bucket of distances and head: in the first layer for all, in umT5 in each."""
    model_type, n_buckets = cfg.text("model_type"), cfg.integer("relative_attention_num_buckets", default=32)
    has_bias = index == 0 or model_type == "umt5"
    table = WeightGroup("self_attn.relative_attention_bias.weight", "attention", n_buckets, shape.heads.n_heads)
    kind = cfg.text("encoder_attention_type", default="local") if model_type == "longt5" and side == "encoder" else "local"
    if kind == "local":
        return (table,) if has_bias else ()
    if kind != "transient-global":
        raise cfg.error("encoder_attention_type", f"expected local or transient-global, found '{kind}'")
    of_globals = table._replace(name="self_attn.global_relative_attention_bias.weight")
    return (*((table, of_globals) if has_bias else ()), *norm("self_attn.global_input_layer_norm", shape.hidden))


def _mixture(cfg: Config, shape: Shape, index: int, side: Side) -> MoeFfn | None:
    """The experts of a layer, of which a token visits one; None where it has a plain feed-forward.

    Steps that older files name take precedence over ``num_sparse_…_layers``, as in the configuration class.
    """
    if cfg.text("model_type") != "switch_transformers":
        return None
    n_sparse = cfg.integer(f"num_sparse_{side}_layers", default=3, least=0)
    step = cfg.integer(f"{side}_sparse_step", default=shape.n_layers // n_sparse if n_sparse else shape.n_layers, least=0)
    sparse = step == 1 or (step > 1 and index % step == 1)
    return MoeFfn(cfg.integer("num_experts", default=8), 1, shape.intermediate, gated=False) if sparse else None


def _with_experts(cfg: Config, shape: Shape, groups: Groups, ffn: MoeFfn | None) -> Groups:
    """``groups`` of a dense layer, its feed-forward replaced where it has experts."""
    if ffn is None:
        return groups
    style = MoeStyle(router="router.classifier", router_bias=cfg.flag("router_bias", default=False))
    return (*(group for group in groups if group.role != "mlp"), *moe(shape.hidden, ffn, style))


def _decoder_layer(cfg: Config, shape: Shape, style: Style, index: int, source_tokens: int) -> Layer:
    ffn = _mixture(cfg, shape, index, "decoder")
    layer = cross_block(shape, style, source_tokens=source_tokens)
    weights = (*_with_experts(cfg, shape, layer.weights, ffn), *_position_bias(cfg, shape, index, "decoder"))
    return Layer(layer.mixers, (ffn or DenseFfn(shape.intermediate, style.gated),), weights)


def _encoder_layer(cfg: Config, shape: Shape, style: Style, index: int) -> Groups:
    dense = block_weights(shape.hidden, shape.heads, shape.intermediate, style)
    weights = _with_experts(cfg, shape, dense, _mixture(cfg, shape, index, "encoder"))
    return (*weights, *_position_bias(cfg, shape, index, "encoder"))


def _caveats(cfg: Config, shape: Shape, source_tokens: int, *, tied: bool, limited: bool) -> tuple[Caveat, ...]:
    found = [longest_input(source_tokens)]
    if not limited:
        found = [
            Caveat(
                "KV006",
                "warning",
                f"{cfg.where} names no input length: cross-attention is counted for {source_tokens:,} tokens, as in pre-training",
                "a longer input of the encoder keeps proportionally more: say it with n_positions in the config",
            )
        ]
    if tied and not cfg.flag("tie_word_embeddings", default=True):
        found.append(
            Caveat(
                "KV007",
                "warning",
                "Transformers builds this family with tied embeddings whatever tie_word_embeddings says, and so it is counted",
                f"a checkpoint with an output projection of its own loads {shape.vocab * shape.hidden:,} parameters more",
            )
        )
    return tuple(found)
