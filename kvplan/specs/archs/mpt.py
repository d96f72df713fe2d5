"""MPT: ALiBi, norms without shifts, no biases, one fused projection.

Source: transformers 5.24 models/mpt/modeling_mpt.py.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.classic import LAYER_NORMED, Shape, classic, equal_heads
from kvplan.specs.parts.forms import FUSED_VIEW_CORE

MODEL_TYPES = ("mpt",)


def build(cfg: Config) -> ModelSpec:
    """What MosaicML's own code can vary beyond this, Transformers ignores: a warning says so."""
    hidden = cfg.integer("d_model", "hidden_size")
    shape = Shape(
        hidden=hidden,
        n_layers=cfg.integer("n_layers", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "n_heads", "num_attention_heads"),
        intermediate=4 * hidden,
        vocab=cfg.integer("vocab_size"),
        max_ctx=cfg.integer("max_seq_len", default=2048),
    )
    style = LAYER_NORMED._replace(
        qkv_bias=False, o_bias=False, mlp_bias=False, norm_bias=False, tied=cfg.flag("tie_word_embeddings", default=True)
    )
    form = ActivationForm(
        norm="5H",
        core=FUSED_VIEW_CORE,
        scores="2NL + 2fNL",
        kept_scores="2NL",
        mlp=("5H + 2I",),
        constant_bytes=4 * shape.heads.n_heads * (shape.max_ctx or 0),  # ALiBi of all positions, in float32
        eager_only=True,
        checked=True,
    )
    spec = classic(shape, style, form)
    return spec._replace(caveats=tuple(_ignored(cfg, key) for key in _foreign(cfg)))


def _foreign(cfg: Config) -> list[str]:
    """Keys that ask for shapes which the model class of Transformers doesn't build."""
    attention = cfg.sub("attn_config")
    asked = {
        "expansion_ratio": cfg.number("expansion_ratio", default=4) != 4,
        "no_bias": not cfg.flag("no_bias", default=True),
        "attn_config.attn_type": attention.text("attn_type", default="multihead_attention") != "multihead_attention",
        "attn_config.qk_ln": attention.flag("qk_ln", default=False),
        "attn_config.alibi": not attention.flag("alibi", default=True) and cfg.flag("learned_pos_emb", default=True),
    }
    return [key for key, foreign in asked.items() if foreign]


def _ignored(cfg: Config, key: str) -> Caveat:
    return Caveat(
        "KV008",
        "warning",
        f"{cfg.where}: {key}: Transformers builds this model without it, and so it is counted",
        "a checkpoint made with MosaicML's own code has other shapes then",
    )
