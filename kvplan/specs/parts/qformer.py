"""The querying transformer of BLIP-2: BERT's post-norm blocks, of which some attend to the encoder's features.

Source: transformers 5.24 models/blip_2/modeling_blip_2.py (Blip2QFormerModel); Li et al. 2023, arXiv:2301.12597 §3.1.
"""

from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm


def qformer(cfg: Config) -> Groups:
    """The blocks and the norm before them; ``use_qformer_text_input`` adds a feed-forward for text to each."""
    hidden, inner = cfg.integer("hidden_size", default=768), cfg.integer("intermediate_size", default=3072)
    n_layers, every = cfg.integer("num_hidden_layers", default=12), cfg.integer("cross_attention_frequency", default=2)
    n_cross = -(-n_layers // every)
    halves = 2 if cfg.flag("use_qformer_text_input", default=False) else 1
    return (
        *norm("layernorm", hidden, bias=True),
        *copies(_attention("attention", hidden, hidden), n_layers),
        *copies(_attention("crossattention", hidden, cfg.integer("encoder_hidden_size", default=1408)), n_cross),
        *copies(_feed_forward(hidden, inner), n_layers * halves),
    )


def _attention(name: str, hidden: int, n_in: int) -> Groups:
    return (
        *linear(f"{name}.query", hidden, hidden, role="projector", bias=True),
        *linear(f"{name}.key", hidden, n_in, role="projector", bias=True),
        *linear(f"{name}.value", hidden, n_in, role="projector", bias=True),
        *linear(f"{name}.output.dense", hidden, hidden, role="projector", bias=True),
        *norm(f"{name}.output.LayerNorm", hidden, bias=True),
    )


def _feed_forward(hidden: int, inner: int) -> Groups:
    return (
        *linear("intermediate_query.dense", inner, hidden, role="projector", bias=True),
        *linear("output_query.dense", hidden, inner, role="projector", bias=True),
        *norm("output_query.LayerNorm", hidden, bias=True),
    )
