"""The lines of the ledger of one llama.cpp process."""

from collections.abc import Iterator

from kvplan.core.ledger import Basis, Entry, Interval, Term, exactly
from kvplan.core.units import MIB
from kvplan.engines.llamacpp import host
from kvplan.engines.llamacpp.devices import CPU
from kvplan.engines.llamacpp.drafter import drafting_context, of_next_token_layers
from kvplan.engines.llamacpp.laid import Laid
from kvplan.engines.llamacpp.projector import projector
from kvplan.engines.llamacpp.rows import Kind

_LOAD = "llama.cpp b11434 src/llama-model.cpp, load_tensors"
_KV = "llama.cpp b11434 src/llama-kv-cache.cpp"
_NAMES: dict[Kind, str] = {
    "full": "KV cache",
    "swa": "KV cache of windows",
    "indexer": "keys of the indexer",
    "csa": "compressed entries, sparse",
    "hca": "compressed entries, heavy",
    "state": "recurrent states",
}
COPIES = "copy of keys and values"
_CONTEXT = Interval(250 * MIB, 450 * MIB, 700 * MIB)
"""A device's driver context, its kernels and their libraries: commonly 0.3 to 0.6 GiB."""


def of_process(laid: Laid) -> Iterator[Entry]:
    """Everything that the process holds once it serves, and what it may come to hold."""
    yield from _weights(laid)
    yield from _caches(laid)
    yield from _graph(laid)
    yield from _devices(laid)
    yield from projector(laid)
    yield from of_next_token_layers(laid)
    drafter = drafting_context(laid)
    if drafter is not None:
        for entry in (*_weights(drafter), *_caches(drafter), *_graph(drafter)):
            yield entry._replace(term="draft_model", name=f"drafter: {entry.name}")
    yield from _process(laid)
    yield from _checkpoints(laid)


def standing(laid: Laid) -> Iterator[Entry]:
    """What no context changes, where nothing drafts and no projector is asked for."""
    yield from _weights(laid)
    yield from _devices(laid)
    yield from _process(laid)


def _line(laid: Laid, term: Term, name: str, buffer: str, size: Interval, *said: str) -> Entry:
    """One line; ``said`` are its formula and its source."""
    basis: Basis = "exact" if size.low == size.high else "modeled"
    return Entry(term, name, laid.place(buffer), size, basis, said[0], {}, said[1], buffer)


def _weights(laid: Laid) -> Iterator[Entry]:
    for buffer, n_bytes in laid.weights.buffers.items():
        name = "weights, laid out for the processor" if buffer == "CPU_REPACK" else "weights"
        yield _line(laid, "weights", name, buffer, _spread(laid, n_bytes), "tensors that this buffer holds, as in the file", _LOAD)
    beside = laid.weights.mapped_bytes - laid.weights.buffers.get("CPU", 0)
    if beside > 0:
        size = exactly(beside) if "mlock" in laid.settings.load_mode else Interval(0, beside, beside)  # else the kernel may take pages back
        formula = "pages of the file between the tensors that stay in them"
        yield _line(laid, "allocator", "pages of the mapped file beside the weights", "CPU_Mapped", size, formula, _LOAD)


def _spread(laid: Laid, n_bytes: int) -> Interval:
    """Without a file the tensors are on paper, and may be off by what the model's bytes may."""
    below, above = (0, 0) if laid.model.exact or laid.model.checkpoint is not None else laid.model.off_by
    return Interval(n_bytes - n_bytes * below // 100, n_bytes, n_bytes + n_bytes * above // 100)


def _caches(laid: Laid) -> Iterator[Entry]:
    for (kind, buffer), n_bytes in laid.cached.items():
        pool = laid.cache.pools[kind]
        inputs: dict[str, int | str] = {"cells": pool.cells, "streams": pool.streams}
        if kind == "state":
            formula, source = "states of {streams} sequences in float32, {cells} of each", "llama.cpp b11434 src/llama-memory-recurrent.cpp"
        else:
            inputs |= {"k": laid.settings.type_k, "v": laid.settings.type_v}
            formula, source = "{cells} cells in each of {streams} streams, keys in {k} and values in {v}", _KV
        term: Term = "recurrent_state" if kind == "state" else "kv_cache"
        yield Entry(term, _NAMES[kind], laid.place(buffer), exactly(n_bytes), "exact", formula, inputs, source, buffer)


def _graph(laid: Laid) -> Iterator[Entry]:
    buffer = laid.host_buffer
    formula = "logits of {slots} slots in float32"
    source = "llama.cpp b11434 src/llama-context.cpp, output_reserve"
    inputs: dict[str, int | str] = {"slots": laid.context.n_kept}
    yield Entry("output_buffer", "output buffer", "host", exactly(laid.output_bytes), "exact", formula, inputs, source, buffer)
    for device in laid.compute.n_bytes:
        name = laid.host_buffer if device == CPU else laid.layout.names[device]
        formula, source = "the graph of a step of {tokens} tokens at the full context", "ggml 0.26 src/ggml-alloc.c; measured on b11434"
        size = laid.compute.interval(device)
        given: dict[str, int | str] = {"tokens": laid.context.n_tokens}
        yield Entry("compute_buffer", "compute buffer", laid.place(name), size, "calibrated", formula, given, source, name)
    for name, copy in laid.copies.items():
        size = Interval(0, copy.n_bytes, copy.n_bytes)  # it may lie where the graph has a hole
        formula, given = (
            "{cells} cells of one layer in 16 bits for flash attention, {bytes} bytes of each",
            {"cells": copy.n_cells, "bytes": copy.cell_bytes},
        )
        source = "ggml 0.26 src/ggml-cuda/fattn.cu"
        yield Entry("compute_buffer", COPIES, laid.place(name), size, "modeled", formula, given, source, name)


def _devices(laid: Laid) -> Iterator[Entry]:
    for buffer in laid.layout.names:
        size = Interval(_CONTEXT.low, _CONTEXT.best, _CONTEXT.high)
        yield _line(laid, "runtime_context", "driver context and kernels", buffer, size, "as such processes commonly hold", "public logs")
        padding = laid.weights.padding.get(buffer, 0)
        if padding:
            source = "ggml 0.26 src/ggml-cuda/ggml-cuda.cu"
            yield _line(laid, "allocator", "padding", buffer, exactly(padding), "last rows filled, tensors aligned to 128 bytes", source)


def _process(laid: Laid) -> Iterator[Entry]:
    yield _line(laid, "runtime_context", "process", "CPU", host.process(laid.model), "program, libraries, vocabulary", "measured on b11434")
    source, most = "llama.cpp b11434 tools/server/server-context.cpp", host.prompt_cache(laid.settings)
    if most:
        each, rest = host.saved_prompt(laid.cache)
        formula = "nothing at start, up to --cache-ram; a prompt takes {each} bytes a token, and {rest} of windows and states"
        given: dict[str, int | str] = {"each": each, "rest": rest}
        yield Entry("prompt_cache", "saved prompts", "host", Interval(0, 0, most), "modeled", formula, given, source, "CPU")


def _checkpoints(laid: Laid) -> Iterator[Entry]:
    most = host.checkpoints(laid.settings, laid.cached)
    if most:
        source = "llama.cpp b11434 tools/server/server-context.cpp"
        formula = "nothing at start, and what it may grow to"
        yield _line(laid, "prompt_cache", "context checkpoints", "CPU", Interval(0, 0, most), formula, source)
