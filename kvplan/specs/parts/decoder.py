"""The common decoder: pre-norm blocks of attention and a dense feed-forward, with the variations that families have.

A family that differs only in these says so in a ``Style``; one that differs more builds its layers from ``blocks``.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, DenseFfn, Layer, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads, attention, layer_kinds, mixer, read_heads
from kvplan.specs.parts.blocks import Groups, embedding, gated_mlp, lm_head, norm, plain_mlp, runs

SIZES = frozenset(["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])


class Style(NamedTuple):
    """How a family's blocks differ from LLaMA's, as its modeling code builds them."""

    qkv_bias: bool = False
    o_bias: bool = False
    mlp_bias: bool = False
    gated: bool = True
    qk_norm: Literal["head", "full"] | None = None
    qk_norm_bias: bool = False
    layer_norms: tuple[str, ...] = ("input_layernorm", "post_attention_layernorm")
    norm_bias: bool = False
    norm_weight: bool = True
    final_norm: bool = True
    tied: bool = False
    head_bias: bool = False
    head_dim: int | None = None
    n_kv_heads: int | None = None
    window: int | None = None
    kinds: tuple[str, ...] = ("full_attention",)


def decoder(cfg: Config, style: Style, form: ActivationForm, *, extra: Groups = ()) -> ModelSpec:
    """The ModelSpec of a dense decoder with ``style``; ``extra`` weights stand in every layer.

    ``style.kinds`` is the family's own pattern of layers, repeated; ``layer_types`` of the config takes precedence.
    Raises ConfigError with the key path for missing or contradictory keys.
    """
    if cfg.has("per_layer_config"):
        raise cfg.error("per_layer_config", "layers that differ from each other are not supported in this architecture")
    hidden, n_layers = cfg.integer("hidden_size"), cfg.n_layers()
    heads = read_heads(cfg, hidden, head_dim=style.head_dim, n_kv_heads=style.n_kv_heads)
    kinds = layer_kinds(cfg, n_layers, tuple(style.kinds[i % len(style.kinds)] for i in range(n_layers)))
    intermediate = cfg.integer("intermediate_size")
    weights = (*block_weights(hidden, heads, intermediate, style), *extra)
    layers = [Layer((mixer(kind, heads, cfg, window=style.window),), (DenseFfn(intermediate, style.gated),), weights) for kind in kinds]
    return assemble(cfg, layers, style, form)


def completed(cfg: Config, defaults: Mapping[str, object]) -> Config:
    """``cfg`` with what it leaves out from its configuration class (``defaults``).

    Files keep the sizes that make a model, even where they are the class's own; only a config inside another one omits
    them. So a whole config without them is damaged, and reading them will say so.
    """
    return cfg.with_defaults(defaults if cfg.path else {key: value for key, value in defaults.items() if key not in SIZES})


def block_weights(hidden: int, heads: Heads, intermediate: int, style: Style) -> Groups:
    """Weights of one layer: norms, attention, feed-forward."""
    mlp = gated_mlp if style.gated else plain_mlp
    return (*mixing_weights(hidden, heads, style), *mlp(hidden, intermediate, bias=style.mlp_bias))


def mixing_weights(hidden: int, heads: Heads, style: Style) -> Groups:
    """Weights of one layer without its feed-forward: norms and attention."""
    norms = style.layer_norms if style.norm_weight else ()
    return (
        *(group for name in norms for group in norm(name, hidden, bias=style.norm_bias)),
        *attention(hidden, heads, qkv_bias=style.qkv_bias, o_bias=style.o_bias, qk_norm=style.qk_norm, qk_norm_bias=style.qk_norm_bias),
    )


def assemble(cfg: Config, layers: list[Layer], style: Style, form: ActivationForm) -> ModelSpec:
    """Embeddings, ``layers``, final norm and output projection as a ModelSpec."""
    hidden, vocab = cfg.integer("hidden_size"), cfg.integer("vocab_size")
    tied = cfg.flag("tie_word_embeddings", default=style.tied)
    weights = (
        *embedding(vocab, hidden),
        *(norm("norm", hidden, bias=style.norm_bias) if style.final_norm and style.norm_weight else ()),
        *lm_head(vocab, hidden, tied=tied, bias=style.head_bias),
    )
    spec = composed(cfg, layers, weights, form)
    return spec._replace(caveats=_untied(vocab * hidden)) if style.tied and not tied else spec


def composed(cfg: Config, layers: list[Layer], weights: Groups, form: ActivationForm) -> ModelSpec:
    """``layers`` and the ``weights`` outside them as a ModelSpec; what the loader fills in is left empty."""
    return ModelSpec(
        architecture="",
        model_type="",
        hidden_size=cfg.integer("hidden_size"),
        vocab_size=cfg.integer("vocab_size"),
        runs=runs(layers),
        weights=weights,
        stored_dtype="",
        max_ctx_tokens=max_ctx(cfg),
        form=form,
    )


def _untied(n_params: int) -> tuple[Caveat, ...]:
    """Trainers write the flag without untying the checkpoint; the other way round it is real, and worth a look."""
    return (
        Caveat(
            "KV002",
            "warning",
            f"tie_word_embeddings is false where this family ties them: an output projection of {n_params:,} parameters is counted",
            "look whether the checkpoint holds lm_head.weight; if not, the flag is wrong",
        ),
    )


def max_ctx(cfg: Config) -> int | None:
    """The position limit of the config, or None where it names none.

    A rope scaling is left out: since YaRN the published limit already includes it, or the factor is applied by hand.
    """
    keys = ("model_max_length", "max_position_embeddings", "max_seq_len", "seq_length", "n_positions", "n_ctx", "max_sequence_length")
    return next((cfg.integer(key) for key in keys if cfg.has(key)), None)


def rotary_dim(cfg: Config, head_dim: int, *, default: float = 1.0) -> int:
    """Width of the rotary tables: ``partial_rotary_factor`` (also inside rope_parameters) times head_dim.

    Raises ConfigError for more channels than a head has.
    """
    sources, keys = (cfg, cfg.sub("rope_parameters")), ("partial_rotary_factor", "rotary_pct", "rope_pct")
    source, key = next(((source, key) for source in sources for key in keys if source.has(key)), (cfg, "head_dim"))
    width = int(head_dim * (default if key == "head_dim" else source.number(key)))
    if width > head_dim:
        raise source.error(key, f"expected at most the {head_dim} channels of a head to be rotated, found {width}")
    return width


def rotary_width(cfg: Config, *, default: float = 1.0) -> int:
    """Width of the rotary tables of a config whose heads are as ``read_heads`` finds them."""
    return rotary_dim(cfg, read_heads(cfg, cfg.integer("hidden_size")).head_dim, default=default)
