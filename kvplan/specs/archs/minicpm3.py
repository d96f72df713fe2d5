"""Dense models with latent attention: MiniCPM3, Youtu-LLM, and PLM, whose feed-forward has no gate.

Source: transformers 5.24 models/minicpm3, models/youtu; PLM-Team/PLM-1.8B-Base modeling_plm.py, arXiv:2503.12167 §2.
"""

from kvplan.core.model import DenseFfn, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.decoder import Style, assemble
from kvplan.specs.parts.experts import MoeStyle
from kvplan.specs.parts.latent import latent_form, latent_layers, read_mla

MODEL_TYPES = ("minicpm3", "youtu", "plm")

DEFAULTS: dict[str, dict[str, object]] = {
    "minicpm3": {
        "kv_lora_rank": 256,
        "q_lora_rank": 768,
        "qk_nope_head_dim": 64,
        "qk_rope_head_dim": 32,
        "max_position_embeddings": 32768,
    },
    "youtu": {
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "max_position_embeddings": 131072,
    },
    "plm": {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "max_position_embeddings": 4096},
}


def build(cfg: Config) -> ModelSpec:
    """MiniCPM3's value heads are hidden_size / n_heads wide where ``v_head_dim`` doesn't say otherwise."""
    model_type = cfg.text("model_type", default="minicpm3")
    cfg = cfg.with_defaults(DEFAULTS[model_type])
    if model_type == "minicpm3" and not cfg.has("v_head_dim"):
        cfg = _with_value_heads(cfg)
    ffn = DenseFfn(cfg.integer("intermediate_size"), gated=model_type != "plm")
    style = MoeStyle(mlp_bias=model_type == "minicpm3" and cfg.flag("mlp_bias", default=False))
    layers = latent_layers(cfg, (read_mla(cfg),) * cfg.n_layers(), (ffn,) * cfg.n_layers(), style)
    return assemble(cfg, layers, Style(tied=True), latent_form(cfg)._replace(checked=model_type != "plm"))


def _with_value_heads(cfg: Config) -> Config:
    hidden, n_heads = cfg.integer("hidden_size"), cfg.integer("num_attention_heads")
    if hidden % n_heads:
        raise cfg.error("num_attention_heads", f"expected a divisor of hidden_size = {hidden}, found {n_heads}", hint="or give v_head_dim")
    return Config({**cfg.data, "v_head_dim": hidden // n_heads}, where=cfg.where, path=cfg.path)
