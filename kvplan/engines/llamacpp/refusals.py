"""What llama.cpp says no to before it allocates anything, in its own words."""

from collections.abc import Iterator

from kvplan.core.device import Node
from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import Refusal
from kvplan.core.model import ModelSpec
from kvplan.engines.llamacpp.context import flash_attn
from kvplan.engines.llamacpp.flags import SHORT_TYPES
from kvplan.engines.llamacpp.places import device_index, is_buffer
from kvplan.engines.llamacpp.settings import Settings
from kvplan.engines.llamacpp.words import stopped

MAX_SEQUENCES = 256  # include/llama.h, LLAMA_MAX_SEQ
_LONG_TYPES = {short: name for name, short in SHORT_TYPES.items()}


def refusals(model: ModelSpec, settings: Settings, node: Node) -> tuple[Refusal, ...]:
    """The first thing that would stop it, nothing where none would.

    Source: llama.cpp b11434 src/llama-context.cpp, llama_init_from_model and the constructor; src/llama.cpp, main_gpu;
    common/arg.cpp, parse_device_list and parse_tensor_buffer_overrides.
    """
    found = (*_devices(settings, node), *_sequences(settings), *_cache_types(model, settings))
    return found[:1]


def _devices(settings: Settings, node: Node) -> Iterator[Refusal]:
    """Only where somebody said what hardware there is."""
    if node.source is None:
        return
    for name in settings.device_names or ():
        index = device_index(name)
        if index is not None and index >= len(node.gpus):
            yield stopped(f'error while handling argument "--device": invalid device: {name}')
    for override in settings.override_tensors:
        if not is_buffer(override.buffer, len(node.gpus)):
            yield stopped('error while handling argument "--override-tensor": unknown buffer type')
    n_devices = len(node.gpus) if settings.device_names is None else len(settings.device_names)
    if settings.split_mode == "none" and settings.main_gpu >= n_devices > 0:
        text = f"llama_model_load_from_file_impl: invalid value for main_gpu: {settings.main_gpu} (available devices: {n_devices})"
        yield Refusal("KV145", "load", text)


def _sequences(settings: Settings) -> Iterator[Refusal]:
    if settings.n_parallel > MAX_SEQUENCES:
        yield Refusal("KV144", "config", f"llama_init_from_model: failed to initialize the context: n_seq_max must be <= {MAX_SEQUENCES}")


def _cache_types(model: ModelSpec, settings: Settings) -> Iterator[Refusal]:
    mixers = [mixer for run in model.runs for mixer in run.layer.mixers]
    if settings.type_k != settings.type_v and any(mixer.kind == "mla" for mixer in mixers):
        yield Refusal(
            "KV142",
            "config",
            f"llama_init_from_model: model does not support different K ({settings.type_k}) and V ({settings.type_v}) cache types",
        )
    flash = flash_attn(model, settings)
    if _block(settings.type_v) > 1 and not flash:
        yield Refusal("KV141", "config", "llama_init_from_model: quantized V cache requires flash_attn to be enabled")
    if flash:
        for letter, name, widths in (("K", settings.type_k, _widths(model, "k")), ("V", settings.type_v, _widths(model, "v"))):
            yield from _undivided(letter, name, widths)


def _undivided(letter: str, name: str, widths: tuple[int, ...]) -> Iterator[Refusal]:
    block = _block(name)
    for width in widths:
        if width % block:
            text = f"{letter} cache type {name} with block size {block} does not divide n_embd_head_{letter.lower()}={width}"
            yield Refusal("KV143", "config", f"llama_init_from_model: {text}")
            return


def _widths(model: ModelSpec, which: str) -> tuple[int, ...]:
    """Widths of the heads as they lie in the cache, of K or of V, in the order of layers."""
    found: dict[int, None] = {}
    for run in model.runs:
        for mixer in run.layer.mixers:
            if mixer.kind in ("full", "sliding", "chunked"):
                found[mixer.head_dim if which == "k" else mixer.v_head_dim] = None
            elif mixer.kind == "mla":
                found[mixer.kv_lora_rank + (mixer.rope_head_dim if which == "k" else 0)] = None
    return tuple(found)


def _block(name: str) -> int:
    """Elements of a block of a cache type, as the flags spell it."""
    return DTYPES[_LONG_TYPES.get(name, name)].block_elems
