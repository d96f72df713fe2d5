"""Nemotron-H and Nemotron 3: each layer is one thing: Mamba-2 (M), attention (*), a feed-forward (-) or a mixture of experts (E).

The feed-forwards have two projections. Experts may run at a smaller, latent width (Nemotron 3 Super).
Source: transformers 5.24 models/nemotron_h; NVIDIA 2025, arXiv:2504.03624 §2; Nemotron 3, arXiv:2512.20856 §2.
"""

from collections.abc import Sequence

from kvplan.core.forms import ActivationForm, chunked_scan
from kvplan.core.mixers import Mamba2
from kvplan.core.model import DenseFfn, Layer, LayerRun, ModelSpec, MoeFfn
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import attention, full, read_heads
from kvplan.specs.parts.blocks import Groups, copies, linear, norm, plain_mlp
from kvplan.specs.parts.decoder import Style, assemble, completed
from kvplan.specs.parts.experts import MoeStyle, router
from kvplan.specs.parts.forms import plain
from kvplan.specs.parts.hybrid import OLD_NAMES
from kvplan.specs.parts.mtp import n_next_token
from kvplan.specs.parts.nested import amended
from kvplan.specs.parts.sparse import experts_per_token
from kvplan.specs.parts.state_space import Biases, mamba2, n_groups, state_dtype

MODEL_TYPES = ("nemotron_h",)

_DEFAULTS: dict[str, object] = {
    "vocab_size": 131072,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 4096,
    "mamba_ssm_cache_dtype": "float32",
}
_SIGNS = {"M": "linear_attention", "E": "moe", "*": "full_attention", "-": "mlp"}
_FOUR = ("linear_attention", "moe", "full_attention", "mlp")
_ROUTING = "4iA + fA + fE"
_ROUTER = MoeStyle(name="mixer", router_dtype="float32", correction="buffer", correction_dtype="float32")


def build(cfg: Config) -> ModelSpec:
    """As many layers as kinds are listed; attention has neither rotation nor biases, and no embeddings are tied."""
    cfg = completed(cfg, _DEFAULTS)
    kinds = _kinds(cfg, ("layers_block_type", "layer_types"), "hybrid_override_pattern", _FOUR if cfg.path else ())
    if not kinds:
        raise cfg.error("layers_block_type", "missing: expected the kind of each layer", hint="hybrid_override_pattern will do: MEM*-")
    if cfg.has("num_hidden_layers"):
        cfg.per_layer("layers_block_type", cfg.n_layers(), kinds)
    made = {kind: _layer(cfg, kind) for kind in dict.fromkeys(kinds)}
    untied = amended(cfg, tie_word_embeddings=False)
    spec = assemble(untied, [made[kind] for kind in kinds], Style(), _form(cfg))
    return spec._replace(mtp=_next_token(cfg))


def _form(cfg: Config) -> ActivationForm:
    """Blocks read the residual itself; experts read a latent where the config has its width, and their outputs are summed in float32."""
    act, latent = cfg.text("mlp_hidden_act", default="relu2"), cfg.optional_integer("moe_latent_size")
    sent, summed, around = (f"{2 * latent}A", f"{2 * latent}fA", f"3H + {latent}") if latent else ("2AH", "2fAH", "3H")
    (gate,), (shared,) = (plain(act, hidden=hidden) for hidden in (f"{around} + {f'{latent}A' if latent else 'AH'}", "4H"))
    return ActivationForm(
        mlp=plain(act, hidden="3H"),
        moe=(
            f"{around} + {sent} + {summed} + {_ROUTING}",
            f"{gate.replace('I', 'AM')} + {_ROUTING}",
            f"{shared.replace('I', 'S')} + fE",
        ),
        states=(chunked_scan(cfg.integer("mamba_chunk_size", "chunk_size", default=128)),),
        logits="W + fW",
        checked=True,
    )


def _kinds(cfg: Config, keys: Sequence[str], pattern_key: str, default: Sequence[str]) -> tuple[str, ...]:
    """Kinds of layers from a list, else from a pattern of signs, else ``default``."""
    key = next((key for key in keys if cfg.has(key)), None)
    if key is not None:
        kinds = [OLD_NAMES.get(kind, kind) for kind in cfg.texts(key)]
    else:
        key = pattern_key
        kinds = [_SIGNS.get(sign, sign) for sign in cfg.text(key)] if cfg.has(key) else list(default)
    strange = next((kind for kind in kinds if kind not in _SIGNS.values()), None)
    if strange:
        known = ", ".join(f"{kind} ({sign})" for sign, kind in _SIGNS.items())
        raise cfg.error(key, f"unknown kind of layer '{strange}'", hint=f"known: {known}")
    return tuple(kinds)


def _layer(cfg: Config, kind: str) -> Layer:
    """A norm and the one block of ``kind``."""
    hidden = cfg.integer("hidden_size")
    before = norm("norm", hidden)
    match kind:
        case "linear_attention":
            ssm = _read_mamba2(cfg)
            bias = cfg.flag("use_bias", default=False)
            conv = cfg.flag("mamba_conv_bias" if cfg.has("mamba_conv_bias") else "use_conv_bias", default=True)
            return Layer((ssm,), (), (*before, *mamba2("mixer", hidden, ssm, Biases(conv, bias, bias))))
        case "full_attention":
            heads = read_heads(cfg, hidden)
            projections = (group._replace(name=group.name.replace("self_attn.", "mixer.")) for group in attention(hidden, heads))
            return Layer((full(heads),), (), (*before, *projections))
        case "mlp":
            width = cfg.integer("intermediate_size", default=21504)
            mlp = plain_mlp(hidden, width, name="mixer", bias=cfg.flag("mlp_bias", default=False))
            return Layer((), (DenseFfn(width, gated=False),), (*before, *mlp))
        case _:
            ffn = _read_moe(cfg)
            return Layer((), (ffn,), (*before, *_experts(cfg, hidden, ffn)))


def _read_mamba2(cfg: Config) -> Mamba2:
    """The state space; groups and kernel also under the names of older configs."""
    n_heads = cfg.integer("mamba_num_heads", default=128)
    return Mamba2(
        n_heads,
        cfg.integer("mamba_head_dim", default=64),
        cfg.integer("ssm_state_size", default=128),
        n_groups(cfg, "mamba_n_groups" if cfg.has("mamba_n_groups") else "n_groups", n_heads, default=8),
        cfg.integer("mamba_d_conv", "conv_kernel", default=4),
        state_dtype(cfg),
    )


def _read_moe(cfg: Config) -> MoeFfn:
    n_experts = cfg.integer("n_routed_experts", "num_local_experts", default=8)
    return MoeFfn(
        n_experts,
        experts_per_token(cfg, "num_experts_per_tok", of=n_experts, default=2),
        cfg.integer("moe_intermediate_size", default=7688),
        cfg.integer("moe_shared_expert_intermediate_size", default=7688),
        gated=False,
    )


def _experts(cfg: Config, hidden: int, ffn: MoeFfn) -> Groups:
    """Router, experts at the model's or the latent width, one shared expert at the model's."""
    latent = cfg.optional_integer("moe_latent_size")
    bias = cfg.flag("mlp_bias", default=False)
    into = linear("mixer.fc1_latent_proj", latent, hidden, role="mlp", bias=bias) if latent else ()
    out = linear("mixer.fc2_latent_proj", hidden, latent, role="mlp", bias=bias) if latent else ()
    return (
        *router(hidden, ffn.n_experts, _ROUTER),
        *into,
        *copies(plain_mlp(latent or hidden, ffn.intermediate, name="mixer.experts", role="expert"), ffn.n_experts),
        *out,
        *plain_mlp(hidden, ffn.shared_intermediate, name="mixer.shared_experts", role="shared_expert", bias=bias),
    )


def _next_token(cfg: Config) -> tuple[LayerRun, ...]:
    """Next-token-prediction layers: a pattern of blocks each, the first joined to the model by a projection, the last normed.

    Source: vLLM 0.33 models/nemotron_h_mtp.py.
    """
    n_layers = n_next_token(cfg)
    if not n_layers:
        return ()
    hidden = cfg.integer("hidden_size")
    layers = [
        _layer(cfg, kind) for kind in _kinds(cfg, ("mtp_layers_block_type",), "mtp_hybrid_override_pattern", ("full_attention", "moe"))
    ]
    if not layers:
        raise cfg.error("mtp_hybrid_override_pattern", "expected a block at least, found none")
    joining = (*norm("enorm", hidden), *norm("hnorm", hidden), *linear("eh_proj", hidden, 2 * hidden, role="other"))
    layers[0] = layers[0]._replace(weights=(*joining, *layers[0].weights))
    layers[-1] = layers[-1]._replace(weights=(*layers[-1].weights, *norm("final_layernorm", hidden)))
    return tuple(LayerRun(1, layer) for layer in layers) * n_layers
