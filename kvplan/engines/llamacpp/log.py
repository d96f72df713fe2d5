"""What llama.cpp prints of its buffers.

Source: llama.cpp b11434 src/llama-model.cpp, llama-kv-cache.cpp, llama-memory-recurrent.cpp, llama-context.cpp.
"""

from collections.abc import Iterator, Mapping

from kvplan.core.units import MIB
from kvplan.engines.llamacpp.cache import Cache
from kvplan.engines.llamacpp.context import Context
from kvplan.engines.llamacpp.rows import Kind
from kvplan.engines.llamacpp.settings import Settings


def mib(n_bytes: int) -> str:
    """Two decimals, in a field of eight."""
    return f"{n_bytes / MIB:8.2f} MiB"


def model_lines(buffers: Mapping[str, int], mapped_bytes: int) -> Iterator[str]:
    """One line for each buffer of weights; what is mapped is printed as the span of the file."""
    for name, n_bytes in buffers.items():
        shown, size = ("CPU_Mapped", mapped_bytes) if name == "CPU" and mapped_bytes else (name, n_bytes)
        yield f"load_tensors: {shown:>12} model buffer size = {mib(size)}"


def cache_lines(settings: Settings, context: Context, cache: Cache, by_buffer: Mapping[tuple[Kind, str], int]) -> Iterator[str]:
    """One line for each buffer of each cache, and its sum."""
    for kind, pool in cache.pools.items():
        state = kind == "state"
        who, what = ("llama_memory_recurrent", "RS") if state else ("llama_kv_cache", "KV")
        for (of, buffer), n_bytes in by_buffer.items():
            if of == kind:
                yield f"{who}: {buffer:>10} {what} buffer size = {mib(n_bytes)}"
        held = [one for one in cache.held if one.row.kind == kind]
        k_bytes, v_bytes = sum(one.n_layers * one.k_bytes for one in held), sum(one.n_layers * one.v_bytes for one in held)
        n_layers = sum(one.n_layers for one in held)
        names = ("R (f32)", "S (f32)") if state else (f"K ({settings.type_k})", f"V ({settings.type_v})")
        cells = f"{pool.streams:6} cells" if state else f"{pool.cells:6} cells"
        seqs = f"{context.n_seq_max:2} seqs" if state else f"{context.n_seq_max:2}/{pool.streams} seqs"
        sizes = f"{names[0]}: {k_bytes / MIB:7.2f} MiB, {names[1]}: {v_bytes / MIB:7.2f} MiB"
        yield f"{who}: size = {(k_bytes + v_bytes) / MIB:7.2f} MiB ({cells}, {n_layers:3} layers, {seqs}), {sizes}"


def compute_lines(buffers: Mapping[str, int]) -> Iterator[str]:
    """One line for each device."""
    for name, n_bytes in buffers.items():
        yield f"sched_reserve: {name:>10} compute buffer size = {mib(n_bytes)}"


def output_line(name: str, n_bytes: int) -> str:
    """The rows that the host reads."""
    return f"llama_context: {name:>10}  output buffer size = {mib(n_bytes)}"
