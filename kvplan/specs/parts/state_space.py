"""State-space mixers as weight groups, and how configs describe them."""

from typing import NamedTuple

from kvplan.core.dtypes import dtype
from kvplan.core.mixers import GatedDeltaNet, Mamba1, Mamba2, ShortConv
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm, vector


class Biases(NamedTuple):
    """Which projections of a mixer have biases: the convolution's, the one into the mixer, the one out of it."""

    conv: bool
    into: bool
    out: bool


def conv1d(name: str, channels: int, kernel: int, *, bias: bool) -> Groups:
    """A causal depthwise convolution: ``kernel`` taps per channel."""
    return linear(name, channels, kernel, role="mixer", shard="column", bias=bias)


def per_channel(name: str, *names: str, rows: int, cols: int = 1) -> Groups:
    """Free parameters of rows × cols each, which tensor parallelism splits with the channels."""
    return tuple(group._replace(cols=cols, shard="column") for part in names for group in vector(f"{name}.{part}", rows, role="mixer"))


def mamba1(name: str, hidden: int, ssm: Mamba1, biases: Biases, *, inner_norms: bool = False) -> Groups:
    """Weights of a Mamba block. ``inner_norms`` are scales on dt, B and C (Jamba).

    Source: Gu & Dao 2023, arXiv:2312.00752 §3.4; transformers 5.24 models/mamba/modeling_mamba.py.
    """
    inner, rank, state = ssm.inner_dim, ssm.dt_rank, ssm.state_dim
    scales = (("dt_layernorm", rank), ("b_layernorm", state), ("c_layernorm", state)) if inner_norms else ()
    return (
        *linear(f"{name}.in_proj", 2 * inner, hidden, role="mixer", shard="column", bias=biases.into),
        *conv1d(f"{name}.conv1d", inner, ssm.conv_kernel, bias=biases.conv),
        *linear(f"{name}.x_proj", rank + 2 * state, inner, role="mixer", shard="row"),
        *linear(f"{name}.dt_proj", inner, rank, role="mixer", shard="column", bias=True),
        *per_channel(name, "A_log", rows=inner, cols=state),
        *per_channel(name, "D", rows=inner),
        *(group for part, size in scales for group in norm(f"{name}.{part}", size)),
        *linear(f"{name}.out_proj", hidden, inner, role="mixer", shard="row", bias=biases.out),
    )


def mamba2(name: str, hidden: int, ssm: Mamba2, biases: Biases, *, gated_norm: bool = True) -> Groups:
    """Weights of a Mamba-2 block.

    The rows of ``in_proj`` that make B and C are a group of their own: where all heads share one B and C, every rank of
    tensor parallelism needs them whole.
    Source: Dao & Gu 2024, arXiv:2405.21060 §7; transformers 5.24 models/mamba2; vLLM 0.33 mamba_mixer2.py (one group per rank).
    """
    inner, shared = ssm.inner_dim, 2 * ssm.n_groups * ssm.state_dim
    return (
        *linear(f"{name}.in_proj", 2 * inner + ssm.n_heads, hidden, role="mixer", shard="column", bias=biases.into),
        *linear(
            f"{name}.in_proj.bc", shared, hidden, role="mixer", shard="replicated" if ssm.n_groups == 1 else "column", bias=biases.into
        ),
        *conv1d(f"{name}.conv1d", ssm.conv_dim, ssm.conv_kernel, bias=biases.conv),
        *per_channel(name, "dt_bias", "A_log", "D", rows=ssm.n_heads),
        *(norm(f"{name}.norm", inner) if gated_norm else ()),
        *linear(f"{name}.out_proj", hidden, inner, role="mixer", shard="row", bias=biases.out),
    )


def gated_delta(name: str, hidden: int, net: GatedDeltaNet, projections: dict[str, int]) -> Groups:
    """Weights of a gated delta network; ``projections`` are its input projections by name, with their rows.

    Source: Yang et al. 2024, arXiv:2412.06464 §3.4; transformers 5.24 models/qwen3_next, models/olmo_hybrid.
    """
    inputs = (linear(f"{name}.{part}", rows, hidden, role="mixer", shard="column") for part, rows in projections.items())
    return (
        *(group for groups in inputs for group in groups),
        *conv1d(f"{name}.conv1d", net.conv_dim, net.conv_kernel, bias=False),
        *per_channel(name, "dt_bias", "A_log", rows=net.n_v_heads),
        *norm(f"{name}.norm", net.v_head_dim),
        *linear(f"{name}.out_proj", hidden, net.n_v_heads * net.v_head_dim, role="mixer", shard="row"),
    )


def split_delta(hidden: int, net: GatedDeltaNet, *, name: str = "linear_attn") -> Groups:
    """A gated delta network whose queries, keys and values, output gate, strength and decay are projected apart (Qwen3.5)."""
    value, heads = net.n_v_heads * net.v_head_dim, net.n_v_heads
    return gated_delta(name, hidden, net, {"in_proj_qkv": net.conv_dim, "in_proj_z": value, "in_proj_b": heads, "in_proj_a": heads})


def short_conv(name: str, hidden: int, conv: ShortConv, *, bias: bool) -> Groups:
    """Weights of a gated short convolution over ``hidden`` channels (LFM2)."""
    return (
        *linear(f"{name}.in_proj", 3 * hidden, hidden, role="mixer", shard="column", bias=bias),
        *conv1d(f"{name}.conv", hidden, conv.conv_kernel, bias=bias),
        *linear(f"{name}.out_proj", hidden, hidden, role="mixer", shard="row", bias=bias),
    )


def expanded(cfg: Config, key: str, hidden: int) -> int:
    """Channels of a mixer that is ``key`` times as wide as the model; the factor may be a fraction."""
    inner = int(cfg.number(key, default=2) * hidden)
    if inner < 1:
        raise cfg.error(key, f"expected a factor that gives at least one channel of {hidden}, found {cfg.number(key)}")
    return inner


def dt_rank(cfg: Config, key: str, hidden: int) -> int:
    """The rank of Mamba's time step: ``auto`` is hidden / 16, rounded up."""
    return -(-hidden // 16) if cfg.data.get(key, "auto") == "auto" else cfg.integer(key)


def read_mamba1(cfg: Config, hidden: int) -> Mamba1:
    """A Mamba mixer from the ``mamba_*`` keys of Jamba and Zamba."""
    return Mamba1(
        expanded(cfg, "mamba_expand", hidden),
        cfg.integer("mamba_d_state", default=16),
        cfg.integer("mamba_d_conv", default=4),
        dt_rank(cfg, "mamba_dt_rank", hidden),
    )


def read_mamba2(cfg: Config, inner: int) -> Mamba2:
    """A Mamba-2 mixer from the ``mamba_*`` keys of Bamba, Falcon-H1 and Granite 4.

    Raises ConfigError where the heads don't fill the ``inner`` channels.
    """
    n_heads = cfg.integer("mamba_n_heads", default=128)
    head_dim = inner // n_heads if cfg.data.get("mamba_d_head", "auto") == "auto" else cfg.integer("mamba_d_head")
    if head_dim * n_heads != inner:
        raise cfg.error("mamba_n_heads", f"expected heads that fill {inner} channels, found {n_heads} of {head_dim} channels")
    return Mamba2(
        n_heads,
        head_dim,
        cfg.integer("mamba_d_state", default=256),
        n_groups(cfg, "mamba_n_groups", n_heads, default=1),
        cfg.integer("mamba_d_conv", default=4),
        state_dtype(cfg),
    )


def read_delta(cfg: Config) -> GatedDeltaNet:
    """A gated delta network from the ``linear_*`` keys of Qwen3-Next. Raises ConfigError where value heads can't share key heads."""
    n_k, n_v = cfg.integer("linear_num_key_heads", default=16), cfg.integer("linear_num_value_heads", default=32)
    if n_v % n_k:
        raise cfg.error("linear_num_value_heads", f"expected a multiple of linear_num_key_heads = {n_k}, found {n_v}")
    k_dim, v_dim = cfg.integer("linear_key_head_dim", default=128), cfg.integer("linear_value_head_dim", default=128)
    return GatedDeltaNet(n_k, n_v, k_dim, v_dim, cfg.integer("linear_conv_kernel_dim", default=4), state_dtype(cfg))


def n_groups(cfg: Config, key: str, n_heads: int, *, default: int) -> int:
    """B and C of a Mamba-2 mixer are shared by so many groups of heads."""
    found = cfg.integer(key, default=default)
    if n_heads % found:
        raise cfg.error(key, f"expected a divisor of the {n_heads} state-space heads, found {found}")
    return found


def state_dtype(cfg: Config) -> str | None:
    """The element type in which the config asks for recurrent states; None where it doesn't, or says ``auto``."""
    key = next((key for key in ("mamba_ssm_cache_dtype", "mamba_ssm_dtype") if cfg.has(key)), None)
    if key is None or cfg.text(key) == "auto":
        return None
    return dtype(cfg.text(key), where=f"{cfg.where}: {cfg.path}{key}").name


def read_biases(cfg: Config) -> Biases:
    """Biases from the ``mamba_*`` keys: on the convolution by default, on the projections not."""
    proj = cfg.flag("mamba_proj_bias", default=False)
    return Biases(cfg.flag("mamba_conv_bias", default=True), proj, proj)
