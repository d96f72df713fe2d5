"""Architectures that no adapter knows: estimated only where they are plainly LLaMA-like, and then with a warning."""

from collections.abc import Callable, Iterable

from kvplan.core.errors import did_you_mean
from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config, UnknownArchitectureError
from kvplan.specs.parts.attention import read_heads
from kvplan.specs.parts.decoder import Style, decoder, rotary_dim

_NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "rms_norm_eps")
# fmt: off
# parts of keys that speak of what LLaMA does not have
_FOREIGN = (
    "expert", "moe", "lora_rank", "ssm", "mamba", "conv", "state_size", "linear_", "layers_block_type", "layer_types", "sliding",
    "window", "chunk", "cross", "vision", "audio", "encoder", "decoder", "num_nextn", "block_configs", "shared", "index_", "compress",
    "time_mix", "text_config", "type_vocab", "thinker", "talker", "language", "altup",
    "laurel", "per_layer", "pattern", "latent", "hybrid", "rwkv",
)
# keys that hold such a part and say nothing of the kind
_HARMLESS = (
    "is_encoder_decoder", "use_sliding_window", "is_decoder", "add_cross_attention", "chunk_size_feed_forward",
    "cross_attention_hidden_size", "tie_encoder_decoder", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size",
    "decoder_start_token_id",
)
# fmt: on
_GATED_ACTS = ("silu", "swish")


def build_llama_like(cfg: Config, *, known: Callable[[], Iterable[str]]) -> ModelSpec:
    """A ModelSpec by likeness, marked inexact and with a warning.

    Raises UnknownArchitectureError that says what is missing, or which keys speak of something LLaMA doesn't have.
    ``known`` gives the model types that adapters claim, for near matches.
    """
    model_type = cfg.text("model_type", default="") or cfg.class_name()
    reason = _unlike(cfg)
    if reason is not None:
        raise UnknownArchitectureError(
            f"{cfg.where}: model_type",
            f"unknown architecture '{model_type}', {reason}: its memory can't be told from this file",
            hint=did_you_mean(model_type, known()) or "`kvplan models` lists what is known; a spec file may name a known model_type",
            named=cfg.has("model_type") and bool(cfg.class_name()) and not (cfg.has("auto_map") or cfg.has("quantization_config")),
        )
    bias = cfg.flag("attention_bias", default=False)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    style = Style(qkv_bias=bias, o_bias=bias, mlp_bias=cfg.flag("mlp_bias", default=False))
    spec = decoder(cfg, style, ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim)))
    caveat = Caveat(
        "KV001",
        "warning",
        f"architecture '{model_type}' is not known: counted as LLaMA's blocks, which its config resembles",
        "biases, extra norms or an ungated feed-forward would change the numbers; check the parameter count",
    )
    return spec._replace(exact=False, caveats=(caveat,))


def _unlike(cfg: Config) -> str | None:
    """Why the config can't be taken for LLaMA's, or None."""
    missing = [key for key in _NEEDED if not cfg.has(key)]
    if missing:
        return f"and {', '.join(missing)} missing"
    foreign = [
        key
        for key in cfg.data
        if key not in _HARMLESS and cfg.data[key] not in (None, False, 0, [], {}) and any(part in key for part in _FOREIGN)
    ]
    if foreign:
        return f"with keys that LLaMA doesn't have ({', '.join(foreign[:4])})"
    act = cfg.text("hidden_act", "hidden_activation", default="none given")
    return None if act in _GATED_ACTS else f"with activation '{act}'"
