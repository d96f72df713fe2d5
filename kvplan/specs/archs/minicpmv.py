"""MiniCPM-V and MiniCPM-o of their own repositories: SigLIP at native resolution, queries that resample it, a flat decoder config.

Source: modeling_minicpmv.py and resampler.py of openbmb/MiniCPM-V-2_6; modeling_minicpmo.py of openbmb/MiniCPM-o-2_6; Yao et al. 2024,
arXiv:2408.01800 §3.
"""

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm
from kvplan.specs.parts.multimodal import joined, tower
from kvplan.specs.parts.nested import amended, inner_or_flat, text_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("minicpmv", "minicpmo")
HEAD_IN_BASE = True
"""The class without ``For...`` in its name holds the output projection too."""

_TEXTS = {2.5: "llama", 2.6: "qwen2", 4.0: "llama", 4.5: "qwen3"}
_SPEAKING = Caveat(
    "KV009",
    "warning",
    "encoder and decoder of speech are described by the repository's code alone: their weights are not counted",
    "the checkpoint's index has the exact total",
)


def build(cfg: Config) -> ModelSpec:
    """``version`` tells which language model the file's keys are of. Raises ConfigError for one that is not known."""
    version = cfg.number("version", default=2.6 if cfg.text("model_type") == "minicpmo" else None)
    if version not in _TEXTS:
        raise cfg.error("version", f"unknown MiniCPM-V {version}", hint=f"known: {', '.join(str(known) for known in _TEXTS)}")
    text = text_model(inner_or_flat(cfg), kind=_TEXTS[version], tied=cfg.flag("tie_word_embeddings", default=False))
    sizes = cfg.sub("vision_config")
    if cfg.flag("drop_vision_last_layer", default=True):
        sizes = amended(sizes, num_hidden_layers=sizes.integer("num_hidden_layers", least=2) - 1)
    vision = tower(amended(cfg, vision_config={**sizes.data, "vision_use_head": False}), kind="siglip_vision_model")
    resampler = _resampler(cfg.integer("query_num", default=64), vision.width, text.hidden_size)
    parts = (part("vpm", vision.groups, "vision"), part("resampler", resampler, "projector"))
    return joined(text, *parts, caveats=(_SPEAKING,) if cfg.text("model_type") == "minicpmo" else ())


def _resampler(n_queries: int, width: int, hidden: int) -> Groups:
    """Queries attend once to the projected features; three norms and a square matrix."""
    return (
        parameter("query", n_queries, hidden),
        *linear("kv_proj", hidden, width, role="projector"),
        *linear("attn.in_proj", 3 * hidden, hidden, role="projector", bias=True),
        *linear("attn.out_proj", hidden, hidden, role="projector", bias=True),
        *(group for name in ("ln_q", "ln_kv", "ln_post") for group in norm(name, hidden, bias=True)),
        parameter("proj", hidden, hidden),
    )
