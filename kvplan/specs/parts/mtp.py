"""Next-token-prediction layers: checkpoints hold them, engines may draft with them, the plain model doesn't count them."""

from kvplan.core.model import Layer, LayerRun, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, embedding, linear, norm

KEYS = ("num_nextn_predict_layers", "num_mtp_layers")


def n_next_token(cfg: Config, *, default: int = 0) -> int:
    """Next-token-prediction layers of the config; ``default`` is the family's own."""
    return cfg.integer(*KEYS, default=default, least=0, most=64)


def next_token(hidden: int, layer: Layer, n_layers: int, *, end_norm: bool = True, own: Groups = ()) -> tuple[LayerRun, ...]:
    """``n_layers`` that each norm the next token's embedding and the last hidden state, join them, and run ``layer``.

    ``end_norm``: what leaves the layer is normed, too. ``own`` are copies of the model's embeddings and output projection
    that checkpoints of the family store with each layer; engines load the model's once.
    Source: DeepSeek-V3, arXiv:2412.19437 §2.2; transformers 5.24 modeling_layers.py, MtpLayer.
    """
    if not n_layers:
        return ()
    joining = (
        *own,
        *norm("enorm", hidden),
        *norm("hnorm", hidden),
        *linear("eh_proj", hidden, 2 * hidden, role="other"),
        *(norm("shared_head.norm", hidden) if end_norm else ()),
    )
    return (LayerRun(n_layers, layer._replace(weights=(*joining, *layer.weights))),)


def own_embeddings(cfg: Config) -> Groups:
    """The embeddings as a checkpoint stores them again with a next-token layer."""
    return embedding(cfg.integer("vocab_size"), cfg.integer("hidden_size"))


def own_ends(cfg: Config) -> Groups:
    """Embeddings and output projection as a checkpoint stores them again with a next-token layer.

    Source: what the Hub counts in DeepSeek-V3 and V3.2, GLM-4.5, 4.7 and 4.7-Flash; GLM-4.6 leaves them out, and nothing in
    its config says so.
    """
    head = WeightGroup("shared_head.head.weight", "lm_head", cfg.integer("vocab_size"), cfg.integer("hidden_size"), shard="vocab")
    return (*own_embeddings(cfg), head)
