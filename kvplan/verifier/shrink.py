"""Smaller configs of the same architecture: fewer layers to fit a device, fewer of everything to try the code out."""

_TEXTS = ("text_config", "llm_config", "language_config")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "num_decoder_layers")
_KINDS = ("layers_block_type", "layer_types")  # where they are, they may say the number of layers alone
_SHARED = "num_kv_shared_layers"  # of the last layers, which reuse keys and values of others
_TOKENS = ("pad_token_id", "bos_token_id", "eos_token_id")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_FEW = 8  # experts: at least as many as a token visits


def cut(config: dict[str, object], n_layers: int) -> dict[str, object]:
    """``config`` with its first ``n_layers`` layers, what is said of each layer cut along; as it is when it has no more, or does not
    say how many it has."""
    for key in _TEXTS:
        if isinstance(text := config.get(key), dict):
            return {**config, key: cut(text, n_layers)}
    numbers = [value for key in _LAYERS if isinstance(value := config.get(key), int)]
    had = next(iter(numbers + [len(value) for key in _KINDS if isinstance(value := config.get(key), list)]), None)
    if had is None or had <= n_layers:
        return config
    shorter = {key: _shorter(key, value, had, n_layers) for key, value in config.items()}
    shared = config.get(_SHARED)
    left = {_SHARED: max(0, n_layers - had + shared)} if isinstance(shared, int) else {}
    return {**shorter, **{key: n_layers for key in _LAYERS if config.get(key) == had}, **left}


def _shorter(key: str, value: object, had: int, n_layers: int) -> object:
    """What is said of the first layers: an item for each, a letter of a pattern, the numbers of layers, at any depth."""
    if isinstance(value, list):
        if len(value) == had:
            return value[:n_layers]
        is_numbers = key.endswith("_layers") and all(type(item) is int for item in value)
        return [item for item in value if item <= n_layers] if is_numbers else value
    if isinstance(value, str):
        return value[:n_layers] if key.endswith("pattern") and len(value) == had else value
    if not isinstance(value, dict) or "model_type" in value:  # another model's own
        return value
    if len(value) == had and all(str(name).isdigit() for name in value):
        return {name: value[name] for name in sorted(value, key=int)[:n_layers]}
    return {name: _shorter(name, item, had, n_layers) for name, item in value.items()}


def tiny(config: dict[str, object]) -> dict[str, object]:
    """``cut`` to two layers, 1024 tokens of vocabulary and 8 experts, for a try on a CPU."""
    for key in _TEXTS:
        if isinstance(text := config.get(key), dict):
            return {**config, key: tiny(text)}
    experts = {key: _FEW for key in _EXPERTS if isinstance(n := config.get(key), int) and n > _FEW}
    tokens = {key: 0 for key in _TOKENS if config.get(key) is not None}
    return {**cut(config, 2), **experts, **tokens, "vocab_size": 1024}
