"""Nemotron-NAS and DeciLM: LLaMA's blocks whose shape a search chose for each layer.

Source: modeling_decilm.py and block_config.py of nvidia/Llama-3_3-Nemotron-Super-49B-v1; modeling_decilm.py of
Deci/DeciLM-7B; Bercovich et al. 2024, arXiv:2411.19146 §2 (Puzzle).
"""

from collections.abc import Callable
from typing import TypeVar

from kvplan.core.forms import ActivationForm
from kvplan.core.mixers import Mixer
from kvplan.core.model import DenseFfn, Ffn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, full, read_heads, sliding
from kvplan.specs.parts.blocks import Groups, gated_mlp, linear, norm
from kvplan.specs.parts.decoder import Style, assemble, rotary_width

MODEL_TYPES = ("nemotron-nas", "deci")

T = TypeVar("T")
_BLOCK = 256
"""The multiple to which feed-forward widths are rounded up."""
_UNKNOWN = ("is_mamba", "mamba", "moe", "llama4", "sparsify")


def build(cfg: Config) -> ModelSpec:
    """``block_configs`` describes each layer's two blocks; DeciLM has only its number of KV heads vary."""
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    if cfg.text("model_type") == "deci":
        counts = cfg.per_layer("num_key_value_heads_per_layer", n_layers, cfg.integers("num_key_value_heads_per_layer", least=1))
        layers = [_plain(cfg, hidden, n_kv_heads) for n_kv_heads in counts]
    else:
        blocks = cfg.mappings("block_configs")
        layers = [_searched(cfg, hidden, block) for block in cfg.per_layer("block_configs", n_layers, blocks)]
    return assemble(cfg, layers, Style(), ActivationForm(rotary_dim=rotary_width(cfg)))


def _plain(cfg: Config, hidden: int, n_kv_heads: int) -> Layer:
    heads, width = _heads(cfg, hidden, n_kv_heads), cfg.integer("intermediate_size")
    norms = (*norm("input_layernorm", hidden), *norm("post_attention_layernorm", hidden))
    return Layer((full(heads),), (DenseFfn(width),), (*norms, *attention(hidden, heads), *gated_mlp(hidden, width)))


def _heads(cfg: Config, hidden: int, n_kv_heads: int) -> Heads:
    return read_heads(Config({**cfg.data, "num_key_value_heads": n_kv_heads}, where=cfg.where, path=cfg.path), hidden)


def _searched(cfg: Config, hidden: int, block: Config) -> Layer:
    """Each block has its norm before it; one that is left out has none."""
    attending, feeding = block.sub("attention"), block.sub("ffn")
    mixers, mixing = _half(attending, lambda: _attention(cfg, attending, hidden), square=("self_attn.linear_attn", hidden))
    ffns, feeds = _half(feeding, lambda: _feed_forward(cfg, feeding, hidden), square=("mlp.linear_mlp", hidden))
    before = norm("input_layernorm", hidden) if mixing else ()
    between = norm("post_attention_layernorm", hidden) if feeds else ()
    return Layer(mixers, ffns, (*before, *mixing, *between, *feeds))


def _half(own: Config, whole: Callable[[], tuple[T, Groups]], *, square: tuple[str, int]) -> tuple[tuple[T, ...], Groups]:
    """One half of a layer: nothing, one ``square`` projection in its place, or ``whole``."""
    if own.flag("no_op", default=False):
        return (), ()
    if own.flag("replace_with_linear", default=False):
        name, size = square
        return (), linear(name, size, size, role="mixer")
    strange = next((key for key in _UNKNOWN if own.has(key) and own.data[key] is not False), None)
    if strange:
        raise own.error(strange, "is not supported: expected a block of plain attention or a dense feed-forward")
    made, weights = whole()
    return (made,), weights


def _attention(cfg: Config, own: Config, hidden: int) -> tuple[Mixer, Groups]:
    """Attention with ``n_heads_in_group`` heads to each KV head, over ``window_length`` tokens where there is one."""
    n_heads, group = cfg.integer("num_attention_heads"), own.integer("n_heads_in_group")
    if n_heads % group:
        raise own.error("n_heads_in_group", f"expected a divisor of num_attention_heads = {n_heads}, found {group}")
    heads, bias = _heads(cfg, hidden, n_heads // group), cfg.flag("attention_bias", default=False)
    window = own.optional_integer("window_length")
    return sliding(heads, window) if window else full(heads), attention(hidden, heads, qkv_bias=bias, o_bias=bias)


def _feed_forward(cfg: Config, own: Config, hidden: int) -> tuple[Ffn, Groups]:
    """A feed-forward of 2/3 · ``ffn_mult`` · hidden_size, rounded up."""
    width = -(-int(2 * own.number("ffn_mult") * hidden / 3) // _BLOCK) * _BLOCK
    if width < 1:
        raise own.error("ffn_mult", "expected a number above 0")
    return DenseFfn(width), gated_mlp(hidden, width, bias=cfg.flag("mlp_bias", default=False))
