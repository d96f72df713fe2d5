"""xLSTM: layers of mLSTM, whose memory is a matrix per head, and gated feed-forwards.

Source: transformers 5.24 models/xlstm; Beck et al. 2024, arXiv:2405.04517 §2.3; 2025, arXiv:2503.13427 §3.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import LinearAttention
from kvplan.core.model import DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.nested import amended

MODEL_TYPES = ("xlstm",)

_DEFAULTS: dict[str, object] = {"vocab_size": 50304, "num_hidden_layers": 32, "num_heads": 8}


def build(cfg: Config) -> ModelSpec:
    """Equal layers, embeddings never tied. Fused and single weights have the same elements."""
    hidden = cfg.integer("hidden_size", "embedding_dim")
    cfg = amended(completed(cfg, _DEFAULTS), hidden_size=hidden, tie_word_embeddings=False)
    if cfg.integer("embedding_dim", default=hidden) != hidden:
        raise cfg.error("embedding_dim", f"expected hidden_size = {hidden}, found {cfg.integer('embedding_dim')}")
    n_heads = cfg.integer("num_heads")
    keys, values = int(cfg.number("qk_dim_factor", default=0.5) * hidden), int(cfg.number("v_dim_factor", default=1.0) * hidden)
    if keys % n_heads or values % n_heads:
        raise cfg.error("num_heads", f"expected a divisor of {keys} key and {values} value channels, found {n_heads}")
    k_dim = keys // n_heads
    mlstm = LinearAttention(n_heads, k_dim, values // n_heads, normalizer=k_dim + 1)
    multiple = cfg.integer("ffn_round_up_to_multiple_of", default=64)
    intermediate = int((hidden * cfg.number("ffn_proj_factor", default=2.667) + multiple - 1) // multiple) * multiple
    bias = cfg.flag("use_bias", default=False)
    weights = (
        *norm("norm_mlstm", hidden, bias=bias),
        *norm("norm_ffn", hidden, bias=bias),
        *_mlstm(hidden, mlstm, bias=bias),
        *gated_mlp(hidden, intermediate, name="ffn", bias=bias),
    )
    layer = Layer((mlstm,), (DenseFfn(intermediate),), weights)
    return assemble(cfg, [layer] * cfg.n_layers("num_blocks", "num_hidden_layers"), Style(), ActivationForm())


def _mlstm(hidden: int, mlstm: LinearAttention, *, bias: bool) -> Groups:
    """Query, key, value and output gate, two gates per head that always have biases, a norm over the heads, the way out."""
    keys, values = mlstm.n_heads * mlstm.k_head_dim, mlstm.n_heads * mlstm.v_head_dim
    inputs = (("q", keys, bias), ("k", keys, bias), ("v", values, bias), ("ogate_preact", values, bias))
    gates = (("igate_preact", mlstm.n_heads, True), ("fgate_preact", mlstm.n_heads, True))
    return (
        *(
            group
            for part, rows, with_bias in (*inputs, *gates)
            for group in linear(f"mlstm_layer.{part}", rows, hidden, role="mixer", shard="column", bias=with_bias)
        ),
        *norm("mlstm_layer.multihead_norm", values, bias=bias),
        *linear("mlstm_layer.out_proj", hidden, values, role="mixer", shard="row", bias=bias),
    )
