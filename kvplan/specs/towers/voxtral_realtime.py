"""Voxtral Realtime's audio encoder: two causal convolutions, then rotary blocks with RMS norms and gated feed-forwards.

Source: transformers 5.24 models/voxtral_realtime (VoxtralRealtimeEncoder).
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.tower import Block, Tower, blocks, conv

MODEL_TYPES = ("voxtral_realtime_encoder",)


def build(cfg: Config) -> Tower:
    """Biases stand on q, v, the output and the feed-forward's way down."""
    hidden, inner = cfg.integer("hidden_size", "d_model", default=1280), cfg.integer("intermediate_size", "encoder_ffn_dim", default=5120)
    n_layers, n_heads = cfg.integer("num_hidden_layers", "encoder_layers", default=32), cfg.integer("num_attention_heads", default=32)
    block = Block(
        hidden,
        inner,
        k_bias=False,
        mlp_bias=False,
        norm_bias=False,
        gated=True,
        inner=n_heads * cfg.integer("head_dim", default=64),
    )
    down: Groups = linear("layers.mlp.down_proj", hidden, inner, role="audio", bias=True)[1:]
    groups = (
        *conv("embedder.conv1", hidden, cfg.integer("num_mel_bins", default=128), 3),
        *conv("embedder.conv2", hidden, hidden, 3),
        *blocks(n_layers, block),
        *(group._replace(n_copies=n_layers) for group in down),
        *norm("norm", hidden),
    )
    return Tower(groups, hidden)
