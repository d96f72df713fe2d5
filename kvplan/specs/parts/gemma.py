"""What Gemma's generations share: four norms a layer, layers that borrow keys and values, embeddings for each layer.

Source: transformers 5.24 models/{gemma3n,gemma4}/configuration_*.py (kv_sharing_modes) and modeling_*.py.
"""

from collections.abc import Sequence

from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm

NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


def window(cfg: Config, *, bidirectional: bool) -> int | None:
    """The window as causal attention counts it; half of it to each side where attention sees both (EmbeddingGemma)."""
    tokens = cfg.optional_integer("sliding_window")
    return tokens // 2 + 1 if tokens and bidirectional else tokens


def kv_sources(cfg: Config, kinds: Sequence[str]) -> tuple[int | None, ...]:
    """For each layer the index of the layer whose keys and values it reads, None where it has its own.

    The last ``num_kv_shared_layers`` layers read from the last layer before them of their own kind. Raises ConfigError
    where there is none.
    """
    n_shared = cfg.integer("num_kv_shared_layers", least=0, most=len(kinds))
    first = len(kinds) - n_shared
    last = {kind: i for i, kind in enumerate(kinds[:first])}
    homeless = set(kinds[first:]) - set(last)
    if homeless:
        raise cfg.error("num_kv_shared_layers", f"no layer before the {n_shared} sharing ones is '{homeless.pop()}': expected one to share")
    return tuple(None if i < first else last[kind] for i, kind in enumerate(kinds))


def per_layer_embeddings(cfg: Config, hidden: int, n_layers: int) -> Groups:
    """Embeddings of ``hidden_size_per_layer_input`` elements for each layer, and what mixes them with the plain ones."""
    width = cfg.integer("hidden_size_per_layer_input")
    rows = cfg.integer("vocab_size_per_layer_input")
    return (
        WeightGroup("embed_tokens_per_layer.weight", "embedding", rows, n_layers * width, shard="vocab"),
        *linear("per_layer_model_projection", n_layers * width, hidden, role="other"),
        *norm("per_layer_projection_norm", width),
    )


def per_layer_gate(cfg: Config, hidden: int) -> Groups:
    """What lets a layer's own embedding into its residual stream."""
    width = cfg.integer("hidden_size_per_layer_input")
    return (
        *linear("per_layer_input_gate", width, hidden, role="other"),
        *linear("per_layer_projection", hidden, width, role="other"),
        *norm("post_per_layer_input_norm", hidden),
    )
