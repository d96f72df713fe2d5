"""NLLB-MoE: M2M-100 with a mixture of experts in every fourth layer of both sides.

Source: transformers 5.24 models/nllb_moe/modeling_nllb_moe.py; NLLB team 2022, arXiv:2207.04672 §6.2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, norm
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, assembled
from kvplan.specs.parts.decoder import block_weights
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.seq2seq import cross_block, encoder, longest_input, shared_tables, side, stacked

MODEL_TYPES = ("nllb-moe",)

_ACTIVE = 2  # the router picks the two best experts


def build(cfg: Config) -> ModelSpec:
    """``encoder_sparse_step`` and ``decoder_sparse_step`` say how often; 0 means never."""
    source, target = (side(cfg, name, positions=1024) for name in ("encoder", "decoder"))
    layers = [_decoder_layer(cfg, target, source.max_ctx, ffn) for ffn in _ffns(cfg, target, "decoder")]
    weights = (
        *shared_tables(target.vocab, target.hidden, tied=cfg.flag("tie_word_embeddings", default=True)),
        *norm("norm", target.hidden, bias=True),
        *encoder(
            stacked(_encoder_layer(cfg, source, ffn) for ffn in _ffns(cfg, source, "encoder")), norm("norm", source.hidden, bias=True)
        ),
    )
    spec = assembled(target, layers, weights, ActivationForm(norm="5H"))
    return spec._replace(caveats=(longest_input(source.max_ctx or 0),))


def _ffns(cfg: Config, shape: Shape, name: str) -> tuple[DenseFfn | MoeFfn, ...]:
    """The feed-forward of each layer on one side."""
    step = cfg.integer(f"{name}_sparse_step", default=4, least=0)
    dense = DenseFfn(shape.intermediate, gated=False)
    sparse = MoeFfn(cfg.integer("num_experts", default=128, least=_ACTIVE), _ACTIVE, shape.intermediate, gated=False)
    return tuple(sparse if step and (i + 1) % step == 0 else dense for i in range(shape.n_layers))


def _with_ffn(cfg: Config, shape: Shape, groups: Groups, ffn: DenseFfn | MoeFfn) -> Groups:
    """``groups`` of a dense layer with ``ffn`` instead."""
    style = MoeStyle(
        name="ffn", router="router.classifier", router_bias=cfg.flag("router_bias", default=False), expert_bias=True, mlp_bias=True
    )
    return (*(group for group in groups if group.role != "mlp"), *dense_or_moe(shape.hidden, ffn, style))


def _decoder_layer(cfg: Config, shape: Shape, source_tokens: int | None, ffn: DenseFfn | MoeFfn) -> Layer:
    layer = cross_block(shape, LAYER_NORMED, source_tokens=source_tokens)
    return Layer(layer.mixers, (ffn,), _with_ffn(cfg, shape, layer.weights, ffn))


def _encoder_layer(cfg: Config, shape: Shape, ffn: DenseFfn | MoeFfn) -> Groups:
    return _with_ffn(cfg, shape, block_weights(shape.hidden, shape.heads, shape.intermediate, LAYER_NORMED), ffn)
