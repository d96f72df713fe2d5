"""EXAONE 4: norms after each block and on each head's q and k, and a window in most layers.

Source: transformers 5.24 models/exaone4; EXAONE 4.0 report, arXiv:2507.11407 §2.1.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width
from kvplan.specs.parts.forms import POST_NORMED

MODEL_TYPES = ("exaone4",)

_CLASS: dict[str, object] = {
    **{"vocab_size": 102400, "hidden_size": 4096, "intermediate_size": 16384, "num_hidden_layers": 32, "num_attention_heads": 32},
    **{"num_key_value_heads": 32, "max_position_embeddings": 2048, "sliding_window": 4096, "sliding_window_pattern": 4},
}
_LETTERS = {"L": "sliding_attention", "G": "full_attention"}


def build(cfg: Config) -> ModelSpec:
    """No biases. Without a window every layer sees all tokens."""
    cfg = completed(cfg, _CLASS)
    window = cfg.optional_integer("sliding_window")
    style = Style(
        qk_norm="head",
        layer_norms=("post_attention_layernorm", "post_feedforward_layernorm"),
        window=window,
        kinds=_pattern(cfg) if window else ("full_attention",),
    )
    return decoder(cfg, style, POST_NORMED._replace(norm="4H + 2fH", rotary_dim=rotary_width(cfg), checked=True))


def _pattern(cfg: Config) -> tuple[str, ...]:
    """Kinds of layers: every n-th sees all tokens, or letters as in ``LLLG`` with a last layer that sees all."""
    if not isinstance(cfg.data["sliding_window_pattern"], str):
        period = cfg.integer("sliding_window_pattern", most=MAX_LAYERS)
        return (*(period - 1) * ("sliding_attention",), "full_attention")
    letters, n_layers = cfg.text("sliding_window_pattern"), cfg.n_layers()
    if not letters or set(letters) - set(_LETTERS):
        raise cfg.error("sliding_window_pattern", f"expected the letters L and G, found '{letters}'")
    kinds = [_LETTERS[letters[i % len(letters)]] for i in range(n_layers)]
    return (*kinds[:-1], "full_attention")
