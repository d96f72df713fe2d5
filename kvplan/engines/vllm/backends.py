"""The attention kernel that vLLM picks, as far as the cache depends on it: the blocks that it takes, and its refusals."""

from typing import NamedTuple

from kvplan.core.mixers import Mixer
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import once
from kvplan.engines.vllm.content import PER_TENSOR, PLAIN, TURBOQUANT, is_quantized

HOPPER = (9, 0)
DATA_CENTER_BLACKWELL = 10
DEFAULT_BLOCK = 16
COMPRESSED_BLOCK = 256  # tokens that 64 compressed entries of the indexer's pages stand for
PICKING_BLOCK = 128  # full attention over the tokens that an indexer picks: a page is what it picks


class Kernel(NamedTuple):
    """A kernel by vLLM's name. ``step``: blocks are multiples of it; ``packed``: latents in DeepSeek's own packing of fp8."""

    name: str
    step: int = 16
    packed: bool = False

    @property
    def block_tokens(self) -> int:
        """The block it takes where nobody says otherwise."""
        return max(self.step, DEFAULT_BLOCK)


class Traits(NamedTuple):
    """What of a model decides about kernels."""

    latent: bool
    sparse: bool
    windowed: bool
    cross: bool
    compressed: bool
    attends: bool
    keeps_state: bool

    @property
    def hybrid(self) -> bool:
        """Attention and states beside each other."""
        return self.attends and self.keeps_state


@once
def traits(model: ModelSpec) -> Traits:
    """The traits of the layers of ``model``."""
    mixers: list[Mixer] = [mixer for run in model.runs for mixer in run.layer.mixers]
    kinds = {mixer.kind for mixer in mixers}
    return Traits(
        latent="mla" in kinds,
        sparse=any(mixer.kind in ("mla", "full") and mixer.indexer is not None for mixer in mixers),
        windowed=bool(kinds & {"sliding", "chunked", "compressed"}),
        cross="cross" in kinds,
        compressed="compressed" in kinds,
        attends=bool(kinds & {"full", "sliding", "chunked", "mla", "cross", "compressed"}),
        keeps_state=bool(kinds - {"full", "sliding", "chunked", "mla", "cross", "compressed"}),
    )


LATENT_STEPS = {"FLASHMLA": 64, "CUTLASS_MLA": 128, "FLASHINFER_MLA": 32, "FLASH_ATTN_MLA": 16, "TRITON_MLA": 16}
"""Kernels for latents that a flag may ask for, and their blocks. Source: vllm 0.33 v1/attention/backends/mla."""


def kernel(
    found: Traits, kv_dtype: str, capability: tuple[int, int] | None, block_tokens: int | None, asked: str | None = None
) -> Kernel | None:
    """The kernel for these traits or the one ``asked`` for, None where no kernel takes this cache. An unknown card counts as Hopper.

    Source: vllm 0.33 platforms/cuda.py, _get_backend_priorities, and each backend's supported types and block sizes.
    """
    capability = capability or HOPPER
    chosen = _latent(found, kv_dtype, capability, block_tokens) if found.latent else _heads(found, kv_dtype, capability)
    if chosen is not None and asked in LATENT_STEPS and found.latent and not found.sparse:
        chosen = Kernel(asked, LATENT_STEPS[asked])
    if found.compressed:
        chosen = Kernel("FLASHMLA_SPARSE", COMPRESSED_BLOCK, packed=True) if kv_dtype == "auto" or kv_dtype.startswith("fp8") else None
    if chosen is None or (block_tokens is not None and block_tokens % chosen.step):
        return None
    return chosen


def _heads(found: Traits, kv_dtype: str, capability: tuple[int, int]) -> Kernel | None:
    if found.sparse:
        return Kernel("MINIMAX_M3_SPARSE", PICKING_BLOCK)
    if kv_dtype.startswith("nvfp4"):
        return Kernel("FLASHINFER") if capability[0] == DATA_CENTER_BLACKWELL else None
    if kv_dtype in TURBOQUANT:
        return None if found.windowed or found.cross else Kernel("TURBOQUANT")
    if kv_dtype.endswith("_per_token_head") or kv_dtype in ("fp8_e5m2", "auto", *PLAIN, *PER_TENSOR):
        return Kernel("FLASH_ATTN" if capability[0] == HOPPER[0] or not is_quantized(kv_dtype) else "TRITON_ATTN")
    return None


def _latent(found: Traits, kv_dtype: str, capability: tuple[int, int], block_tokens: int | None) -> Kernel | None:
    eight = kv_dtype in (*PER_TENSOR, "fp8_ds_mla")
    if is_quantized(kv_dtype) and not eight:
        return None
    if found.sparse:
        if capability[0] == DATA_CENTER_BLACKWELL:
            return Kernel("FLASHINFER_MLA_SPARSE" if eight else "FLASHMLA_SPARSE", 64, packed=kv_dtype == "fp8_ds_mla")
        return Kernel("FLASHMLA_SPARSE" if eight else "FLASH_ATTN_MLA_SPARSE", 64, packed=eight)
    if capability[0] == DATA_CENTER_BLACKWELL:
        return Kernel("FLASHINFER_MLA", 32)
    if capability[0] == HOPPER[0] and eight and (block_tokens or 64) % 64 == 0:
        return Kernel("FLASHMLA", 64)
    return Kernel("FLASH_ATTN_MLA" if capability[0] == HOPPER[0] and not eight else "TRITON_MLA")
