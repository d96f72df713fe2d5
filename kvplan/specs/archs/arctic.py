"""Snowflake Arctic: a mixture beside a dense feed-forward as wide as the model, which has a norm of its own.

Source: Snowflake/snowflake-arctic-instruct modeling_arctic.py, configuration_arctic.py (2024); vLLM models/arctic.py.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import DenseFfn, Layer, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, full, read_heads, sliding
from kvplan.specs.parts.blocks import gated_mlp, norm
from kvplan.specs.parts.decoder import Style, assemble, completed, mixing_weights, rotary_dim
from kvplan.specs.parts.experts import MoeStyle, dense_or_moe
from kvplan.specs.parts.sparse import experts_per_token

MODEL_TYPES = ("arctic",)

_DEFAULTS = {"num_local_experts": 8, "num_experts_per_tok": 1, "moe_layer_frequency": 2, "max_position_embeddings": 4096}


def build(cfg: Config) -> ModelSpec:
    """Every ``moe_layer_frequency``-th layer is a mixture, with the dense branch where the config asks for it."""
    cfg = completed(cfg, _DEFAULTS)
    heads = read_heads(cfg, cfg.integer("hidden_size"))
    n_experts, intermediate = cfg.integer("num_local_experts"), cfg.integer("intermediate_size")
    moe = MoeFfn(n_experts, experts_per_token(cfg, "num_experts_per_tok", of=n_experts), intermediate)
    dense, sparse = _layer(cfg, heads, DenseFfn(intermediate)), _layer(cfg, heads, moe)
    step = cfg.integer("moe_layer_frequency")
    layers = [dense if (i + 1) % step else sparse for i in range(cfg.n_layers())]
    return assemble(cfg, layers, Style(), ActivationForm(rotary_dim=rotary_dim(cfg, heads.head_dim)))


def _layer(cfg: Config, heads: Heads, ffn: DenseFfn | MoeFfn) -> Layer:
    hidden, window = cfg.integer("hidden_size"), cfg.optional_integer("sliding_window")
    mixers = (sliding(heads, window) if window else full(heads),)
    weights = (*mixing_weights(hidden, heads, Style()), *dense_or_moe(hidden, ffn, MoeStyle(name="block_sparse_moe")))
    if ffn.kind == "dense" or not _residual(cfg):
        return Layer(mixers, (ffn,), weights)
    branch = (*norm("residual_layernorm", hidden), *gated_mlp(hidden, hidden, name="residual_mlp"))
    return Layer(mixers, (ffn, DenseFfn(hidden)), (*weights, *branch))


def _residual(cfg: Config) -> bool:
    """Whether mixtures have the dense branch: one fact that two programs read under two names."""
    said = {key: cfg.flag(key) for key in ("parallel_attn_mlp_res", "use_residual") if cfg.has(key)}
    if len(set(said.values())) > 1:
        raise cfg.error("use_residual", f"expected what parallel_attn_mlp_res says, found {str(said['use_residual']).lower()}")
    return any(said.values())
