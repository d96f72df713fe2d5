"""Smaller configs of the same architecture: fewer layers to fit a device, fewer of everything to try the code out."""

_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_FEW = 8  # experts: at least as many as a token visits


def cut(config: dict[str, object], n_layers: int) -> dict[str, object]:
    """``config`` with its first ``n_layers`` layers, lists with one item a layer cut along; as it is when it has no more."""
    text = config.get("text_config")
    if isinstance(text, dict):
        return {**config, "text_config": cut(text, n_layers)}
    had = next((value for key in _LAYERS if isinstance(value := config.get(key), int)), None)
    if had is None or had <= n_layers:
        return config
    shorter = {key: value[:n_layers] for key, value in config.items() if isinstance(value, list) and len(value) == had}
    return {**config, **shorter, **{key: n_layers for key in _LAYERS if config.get(key) == had}}


def tiny(config: dict[str, object]) -> dict[str, object]:
    """``cut`` to two layers, 1024 tokens of vocabulary and 8 experts, for a try on a CPU."""
    text = config.get("text_config")
    if isinstance(text, dict):
        return {**config, "text_config": tiny(text)}
    experts = {key: _FEW for key in _EXPERTS if isinstance(n := config.get(key), int) and n > _FEW}
    tokens = {key: 0 for key in _TOKENS if config.get(key) is not None}
    return {**cut(config, 2), **experts, **tokens, "vocab_size": 1024}
