"""Next-token-prediction layers: checkpoints hold them, engines may draft with them, the plain model doesn't count them."""

from kvplan.core.model import Layer, LayerRun
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm

KEYS = ("num_nextn_predict_layers", "num_mtp_layers")


def n_next_token(cfg: Config, *, default: int = 0) -> int:
    """Next-token-prediction layers of the config; ``default`` is the family's own."""
    return cfg.integer(*KEYS, default=default, least=0, most=64)


def next_token(hidden: int, layer: Layer, n_layers: int, *, end_norm: bool = True) -> tuple[LayerRun, ...]:
    """``n_layers`` that each norm the next token's embedding and the last hidden state, join them, and run ``layer``.

    Embeddings and output projection are the model's own. ``end_norm``: what leaves the layer is normed, too.
    Source: DeepSeek-V3, arXiv:2412.19437 §2.2; transformers 5.24 modeling_layers.py, MtpLayer.
    """
    if not n_layers:
        return ()
    joining = (
        *norm("enorm", hidden),
        *norm("hnorm", hidden),
        *linear("eh_proj", hidden, 2 * hidden, role="other"),
        *(norm("shared_head.norm", hidden) if end_norm else ()),
    )
    return (LayerRun(n_layers, layer._replace(weights=(*joining, *layer.weights))),)
