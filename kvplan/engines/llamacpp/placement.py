"""Which tensor is loaded where: devices, the host, and copies of it that are laid out for the processor.

Source: llama.cpp b11434 src/llama-model.cpp, load_tensors; src/llama-model-loader.cpp, create_tensor; src/llama-arch.cpp,
LLM_TENSOR_INFOS; ggml/src/ggml-cpu/repack.cpp, ggml_repack_get_optimal_repack_type.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from kvplan.core.checkpoint import Tensor
from kvplan.core.units import ceil_to
from kvplan.engines.llamacpp.devices import CPU, Layout
from kvplan.engines.llamacpp.patterns import expression
from kvplan.engines.llamacpp.settings import Isa, Settings

Stand = Literal["input", "block", "output"]
_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.(\d+)\.")
_LOOKED_UP = ("token_embd.weight", "position_embd.weight", "token_types.weight", "per_layer_token_embd.weight", "token_embd_norm")
_WITH_FIRST_BLOCK = ("per_layer_model_proj", "per_layer_proj_norm")
_EVERY_BLOCK = ("rope_freqs", "rope_factors_long", "rope_factors_short")  # needed where any block is
_TABLE, _OUTPUT = "token_embd.weight", "output.weight"
_AVX2 = frozenset(("q4_0", "q4_k", "iq4_nl", "mxfp4"))
_REPACKED: dict[Isa, frozenset[str]] = {
    "x86-avx2": _AVX2,
    "x86-avx512": _AVX2 | {"q2_k"},
    "arm64": _AVX2 | {"q5_k", "q6_k", "q8_0"},
}
_ALIGNMENT = 32
_ROWS = 8  # interleaved by repacking
_CPU_MOE = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
_CPU_FFN = r"\.ffn_(up|down|gate)\."


class Piece(NamedTuple):
    """A tensor in a buffer; one that is used in two places may lie in two."""

    tensor: Tensor
    buffer: str


@lru_cache(maxsize=64)
def _stands(tensors: tuple[Tensor, ...]) -> tuple[tuple[Stand, int], ...]:
    return tuple(_stand(tensor.name) for tensor in tensors)


def _stand(name: str) -> tuple[Stand, int]:
    """Where in the model a tensor is used, and in which block."""
    found = _BLOCK.match(name)
    if found:
        return "block", int(found[1])
    if name.startswith(_WITH_FIRST_BLOCK):
        return "block", 0
    return ("input", 0) if name.startswith(_LOOKED_UP) else ("output", 0)


def pieces(tensors: tuple[Tensor, ...], settings: Settings, layout: Layout, skipped: int) -> list[Piece]:
    """Every tensor in its buffer, those of the last ``skipped`` blocks (next-token layers that are not loaded) left out."""
    n_blocks = len(layout.blocks)
    patterns, found, tied = _patterns(settings, n_blocks), [], True
    for tensor, (stand, block) in zip(tensors, _stands(tensors), strict=True):
        if stand == "block" and block >= n_blocks - skipped:
            continue
        tied = tied and tensor.name != _OUTPUT
        if tensor.name.startswith(_EVERY_BLOCK):
            used = {_buffer(tensor, layout.blocks[i], settings, layout, patterns) for i in range(n_blocks - skipped)}
            found += [Piece(tensor, buffer) for buffer in sorted(used)]
            continue
        device = CPU if stand == "input" else layout.output if stand == "output" else layout.blocks[block]
        found.append(Piece(tensor, _buffer(tensor, device, settings, layout, patterns)))
    table = next((piece for piece in found if piece.tensor.name == _TABLE), None)
    if tied and table is not None:
        again = _buffer(table.tensor._replace(name=_OUTPUT), layout.output, settings, layout, patterns)
        if again != table.buffer:
            found.append(Piece(table.tensor, again))
    return found


def _buffer(tensor: Tensor, device: int, settings: Settings, layout: Layout, patterns: Sequence[tuple[re.Pattern[str], str]]) -> str:
    override = next((buffer for pattern, buffer in patterns if pattern.search(tensor.name)), None)
    if override is not None and override != "CPU":
        return override
    if override is None and device != CPU:
        return layout.names[device]
    return _host_buffer(tensor, settings, layout)


def _host_buffer(tensor: Tensor, settings: Settings, layout: Layout) -> str:
    """Pinned memory of a device goes before repacking; with a mapped file it is the file itself."""
    if layout.names and settings.pinned_host:
        return "CPU" if maps(settings) else pinned(layout)
    return "CPU_REPACK" if settings.repack and repacks(tensor, settings.host) else "CPU"


def pinned(layout: Layout) -> str:
    """The first device's buffer type in the host's memory: CUDA_Host."""
    return f"{layout.names[0].rstrip('0123456789')}_Host"


def maps(settings: Settings) -> bool:
    """Whether the file is mapped into memory instead of read."""
    return settings.load_mode in ("auto", "mmap", "mmap+mlock")


def repacks(tensor: Tensor, isa: Isa) -> bool:
    """Whether the processor's kernels want another layout of this tensor: matrices that are multiplied, experts in one tensor."""
    if tensor.dtype not in _REPACKED[isa] or tensor.name.startswith(_LOOKED_UP) or tensor.shape[1] % _ROWS:
        return False
    return len(tensor.shape) == 2 or (len(tensor.shape) == 3 and "exps" in tensor.name)


def _patterns(settings: Settings, n_blocks: int) -> list[tuple[re.Pattern[str], str]]:
    """``-ot`` in the order given, then what ``--cpu-moe`` and its kin stand for."""
    said = [(override.pattern, override.buffer) for override in settings.override_tensors]
    if settings.cpu_moe:
        said.append((_CPU_MOE, "CPU"))
    for n, rest in ((settings.n_cpu_moe, _CPU_MOE), (settings.n_cpu_ffn, _CPU_FFN)):
        blocks = "|".join(str(i) for i in range(min(n, n_blocks)))  # llama.cpp has a pattern for each; one is searched faster
        said += [(rf"blk\.({blocks}){rest}", "CPU")] if blocks else []
    return [(expression(pattern), buffer) for pattern, buffer in said]


def summed(found: Iterable[Piece]) -> dict[str, int]:
    """Bytes by buffer, each tensor begun at a multiple of the alignment that files have, too."""
    sums: dict[str, int] = {}
    for piece in found:
        sums[piece.buffer] = sums.get(piece.buffer, 0) + ceil_to(piece.tensor.n_bytes, _ALIGNMENT)
    return sums
