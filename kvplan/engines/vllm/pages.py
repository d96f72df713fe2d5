"""What vLLM keeps for each layer: a slot of a page per block, as its KV cache specs say."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kvplan.core.mixers import Mixer, Mla
from kvplan.core.model import Layer, ModelSpec
from kvplan.core.sharding import heads_per_rank
from kvplan.engines.vllm import states
from kvplan.engines.vllm.compressed import compressed
from kvplan.engines.vllm.content import PER_TENSOR, head_bytes
from kvplan.engines.vllm.slots import Kind, Slot

INDEXER_SCALE = 4  # bytes of the scale beside each key of 8 bits
PICKED_KEY = 2  # bytes of an element of the keys beside full attention (MiniMax-M3): bfloat16
FP8_DS_MLA = 656  # 512 latents of one byte, four float32 scales, 64 rotated channels of two bytes


class Placed(NamedTuple):
    """A slot, the pipeline stage that holds it, and whether a drafter owns it."""

    slot: Slot
    stage: int
    draft: bool = False


class Form(NamedTuple):
    """What the pages of all layers of a rank are made with.

    ``elem_bytes`` is the model's own element, ``kv_dtype`` the type of the cache, resolved. ``state_page_bytes`` is what
    states are padded to (0: not at all), ``unquantized`` the layers that keep the model's type whatever the cache's.
    ``sparse_packed``: sparse latents lie in DeepSeek's own packing of fp8. ``windows`` False: layers with a window keep all.
    """

    tp: int
    block_tokens: int
    kv_dtype: str
    elem_bytes: int
    state: states.StateForm
    state_page_bytes: int = 0
    unquantized: frozenset[int] = frozenset()
    sparse_packed: bool = False
    windows: bool = True

    def in_layer(self, index: int) -> "Form":
        """The form in layer ``index``."""
        return self._replace(kv_dtype="auto") if index in self.unquantized else self


def slots(model: ModelSpec, form: Form) -> Iterator[tuple[int, Slot]]:
    """Each slot and the index of its layer, in vLLM's order; layers that read another's cache have none."""
    known: dict[tuple[int, bool], tuple[Slot, ...]] = {}
    for index, layer in enumerate(model.layers()):
        if layer.kv_source is None:
            key = (id(layer), index in form.unquantized)
            if key not in known:
                known[key] = layer_slots(layer, form.in_layer(index))
            for slot in known[key]:
                yield index, slot


def draft_slots(runs: Iterable[tuple[int, Layer]], form: Form) -> Iterator[Slot]:
    """The slots of a drafter's layers; each entry is how often a layer is there."""
    for n_layers, layer in runs:
        for _ in range(n_layers):
            yield from layer_slots(layer, form)


def layer_slots(layer: Layer, form: Form) -> tuple[Slot, ...]:
    """The slots of one layer: attention and state beside each other, an indexer's keys beside the latents."""
    return tuple(slot for mixer in layer.mixers for slot in _slots(mixer, form))


def _slots(mixer: Mixer, form: Form) -> tuple[Slot, ...]:
    """Source: vllm 0.33 v1/kv_cache_interface.py; attention.py, mla_attention.py and mamba/abstract.py, get_kv_cache_spec."""
    match mixer.kind:
        case "full":
            keys = () if mixer.indexer is None else (_keys(PICKED_KEY * mixer.indexer.head_dim, form.block_tokens, form),)
            return (*_heads("full", mixer.n_kv_heads, (mixer.head_dim, mixer.v_head_dim), 0, form), *keys)
        case "sliding" if not form.windows:
            return _heads("full", mixer.n_kv_heads, (mixer.head_dim, mixer.v_head_dim), 0, form)
        case "sliding":
            return _heads("sliding", mixer.n_kv_heads, (mixer.head_dim, mixer.v_head_dim), mixer.window_tokens, form)
        case "chunked":
            return _heads("chunked", mixer.n_kv_heads, (mixer.head_dim, mixer.v_head_dim), mixer.chunk_tokens, form)
        case "cross":
            return _heads("cross", mixer.n_kv_heads, (mixer.head_dim, mixer.head_dim), 0, form)
        case "mla":
            return _latent(mixer, form)
        case "compressed":
            return compressed(mixer)
        case "mamba1" | "mamba2" | "gated_delta" | "linear" | "short_conv" | "rwkv" | "rg_lru":  # pragma: no branch - the kinds end here
            size = states.state_bytes(mixer, form.tp, form.state)
            page = max(size, form.state_page_bytes)
            kept: Kind = "block_state" if form.state.every_block else "state"
            return (Slot(kept, form.state.block_tokens, page, (mixer.kind, size), n_states=form.state.n_blocks, spread=False),)


def _heads(kind: Kind, n_kv_heads: int, dims: tuple[int, int], window: int, form: Form) -> tuple[Slot, ...]:
    n_heads = heads_per_rank(n_kv_heads, form.tp)
    token = n_heads * head_bytes(form.kv_dtype, *dims, form.elem_bytes)
    return (Slot(kind, form.block_tokens, token * form.block_tokens, (n_heads, *dims, form.kv_dtype), window),)


def _latent(mixer: Mla, form: Form) -> tuple[Slot, ...]:
    """One latent for all heads, and an indexer's keys before it."""
    window = mixer.window_tokens or 0
    page = form.block_tokens * latent_bytes(mixer.elems_per_token, form)
    found = Slot("sliding" if window else "mla", form.block_tokens, page, ("mla", mixer.elems_per_token), window)
    if mixer.indexer is None:
        return (found,)
    return _keys(mixer.indexer.head_dim + INDEXER_SCALE, form.block_tokens // mixer.indexer.pool_tokens, form), found


def _keys(key_bytes: int, n_keys: int, form: Form) -> Slot:
    """An indexer's keys, on every rank the same."""
    return Slot("mla", form.block_tokens, key_bytes * n_keys, ("indexer", key_bytes))


def latent_bytes(elems: int, form: Form) -> int:
    """Bytes of one token's latent: one head, on every rank the same."""
    if form.sparse_packed:
        return FP8_DS_MLA
    return elems * (1 if form.kv_dtype in PER_TENSOR else form.elem_bytes)
