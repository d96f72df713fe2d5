"""What a cache's tensors hold, whatever class the cache is."""

from collections.abc import Iterable, Iterator

import torch

_STATES = ("conv_states", "recurrent_states", "ssm_states")


def cache_bytes(cache: object) -> tuple[int, int]:
    """(keys, values and the like; recurrent states): storages once, views as the storage that they keep alive.

    Counters and window sizes, tensors of fewer than two dimensions, are not cache.
    """
    storages: dict[int, tuple[int, bool]] = {}
    for tensor, is_state in _tensors(cache, is_state=False):
        if tensor.dim() >= 2:
            storage = tensor.untyped_storage()
            storages[storage._cdata] = (storage.nbytes(), is_state)
    return (
        sum(n_bytes for n_bytes, is_state in storages.values() if not is_state),
        sum(n_bytes for n_bytes, is_state in storages.values() if is_state),
    )


def _tensors(value: object, *, is_state: bool, depth: int = 6) -> "Iterator[tuple[torch.Tensor, bool]]":
    """Every tensor in attributes, lists and mappings, and whether an attribute on the way to it names a recurrent state."""
    if isinstance(value, torch.Tensor):
        yield value, is_state
    elif depth:
        for name, item in _parts(value):
            yield from _tensors(item, is_state=is_state or name in _STATES, depth=depth - 1)


def _parts(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, dict):
        return [(str(key), item) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [("", item) for item in value]
    return vars(value).items() if hasattr(value, "__dict__") and not isinstance(value, type | torch.nn.Module) else ()
