"""Bytes of the weights at rest: by arithmetic, or as the headers of a checkpoint have them."""

from collections.abc import Mapping
from itertools import chain
from typing import NamedTuple

from kvplan.core.checkpoint import PARTS, Checkpoint, Part
from kvplan.core.dtypes import PLAIN
from kvplan.core.ledger import Basis, Entry, Interval, NotModeled
from kvplan.core.model import Layer, ModelSpec
from kvplan.engines.transformers.settings import Settings

LOADED: tuple[Part, ...] = ("model",)
"""What of a checkpoint from_pretrained loads; what its class has no module for is skipped. Source: transformers 5.24 modeling_utils.py."""

_LEFT_OUT: dict[Part, str] = {"mtp": "mtp_layers", "tower": "towers_left_out", "tied": "stored_copies", "buffer": "stored_tables"}


class Sum(NamedTuple):
    """Bytes of all groups: ``run`` once loaded, ``more`` of them because groups are kept in a type of their own then,
    ``less`` of those that older versions do not keep."""

    run: int
    more: int
    less: int


class Weights(NamedTuple):
    """Bytes of the weights, how sure they are, and why."""

    size: Interval
    basis: Basis
    formula: str
    inputs: Mapping[str, int | str]
    source: str


def weights(model: ModelSpec, settings: Settings, *, keeps_router: bool) -> Weights:
    """Unquantized, or in another type than stored: every parameter in the chosen type. Quantized: as the files have it."""
    summed = _summed(model, settings.dtype, keeps_router=keeps_router)
    files = model.checkpoint
    if files is None or model.quantization is None or settings.dtype != model.stored_dtype:
        return _by_arithmetic(model, settings.dtype, summed)
    return _by_headers(model, files, summed) if files.basis == "headers" else _within_files(model, files, summed)


def entry(found: Weights) -> Entry:
    """Parameters at rest."""
    return Entry(
        term="weights",
        name="weights",
        place="gpu0",
        size=found.size,
        basis=found.basis,
        formula=found.formula,
        inputs=found.inputs,
        source=found.source,
    )


def left_out(model: ModelSpec) -> list[NotModeled]:
    """What the checkpoint holds besides, on disk alone; next-token layers by arithmetic where its headers were not read."""
    files = model.checkpoint
    if files is None or files.basis == "file sizes":
        found: list[tuple[Part, int, str]] = [("mtp", model.mtp_bytes, ", by arithmetic")]
    else:
        found = [(part, files.bytes_in(part), "") for part in _LEFT_OUT if part not in LOADED]
    return [
        NotModeled(_LEFT_OUT[part], f"in the checkpoint, not loaded by Transformers: {PARTS[part]}, {size:,} B{how}", 0, 0)
        for part, size, how in found
        if size
    ]


def _by_arithmetic(model: ModelSpec, dtype: str, summed: Sum) -> Weights:
    files = model.checkpoint
    confirmed = files is not None and files.basis == "headers" and model.exact
    formula, inputs = _formula(model, dtype)
    return Weights(
        size=_spread(model, summed),
        basis="exact" if model.exact and not summed.less and dtype in PLAIN else "modeled",
        formula=formula,
        inputs=inputs,
        source=(model.id or model.architecture) + ("; the headers of its files hold as many" if confirmed else _reckoned(model)),
    )


def _reckoned(model: ModelSpec) -> str:
    """How the bytes of a quantized model came about without its files."""
    if any(caveat.rule == "KV025" for caveat in model.caveats):
        return f", on paper as {model.quantization} (KV025)"
    return ", by arithmetic on its config" if model.quantization else ""


def _by_headers(model: ModelSpec, files: Checkpoint, summed: Sum) -> Weights:
    """Bytes stored, and what groups that run in a type of their own take more."""
    best = files.bytes_in(*LOADED) + summed.more
    return Weights(
        size=Interval(best - summed.less, best, best),
        basis="modeled" if summed.less else "exact",
        formula="{stored} B stored" + (" + {more} B of groups kept in another type once loaded" if summed.more else ""),
        inputs={"stored": files.bytes_in(*LOADED)} | ({"more": summed.more} if summed.more else {}),
        source=f"{model.id or model.architecture}: headers of {_counted(files)}",
    )


def _within_files(model: ModelSpec, files: Checkpoint, summed: Sum) -> Weights:
    """By arithmetic, as far as the files are large."""
    size = _spread(model, summed)
    return Weights(
        size=Interval(min(size.low, files.n_bytes), min(size.best, files.n_bytes), files.n_bytes),
        basis="modeled",
        formula="{n_params} parameters, quantized by {method}: {arithmetic} B, at most the {files} B of its files",
        inputs={
            "n_params": model.n_params,
            "method": model.quantization or "",
            "arithmetic": size.best,
            "files": files.n_bytes,
        },
        source=f"{model.id or model.architecture}: sizes of {_counted(files)}",
    )


def _counted(files: Checkpoint) -> str:
    return f"{files.n_files} {files.format} file{'' if files.n_files == 1 else 's'}"


def _spread(model: ModelSpec, summed: Sum) -> Interval:
    best = summed.run
    below, above = (0, 0) if model.exact else model.off_by
    return Interval(best - summed.less - best * below // 100, best, best + best * above // 100)


def _summed(model: ModelSpec, dtype: str, *, keeps_router: bool) -> Sum:
    """All groups in the chosen type; a group with a type of its own keeps it."""
    run = sum([group.run_bytes(dtype) for group in model.weights])
    more = sum([group.run_bytes(dtype) - group.n_bytes(dtype) for group in model.weights])
    less = 0
    sizes: dict[int, tuple[int, int]] = {}
    for layers in model.runs:
        key = id(layers.layer)
        if key not in sizes:
            sizes[key] = _layer_bytes(layers.layer, dtype)
        run += layers.n_layers * sizes[key][0]
        more += layers.n_layers * sizes[key][1]
        less += 0 if keeps_router else layers.n_layers * max(0, sizes[key][1])
    return Sum(run, more, less)


def _layer_bytes(layer: Layer, dtype: str) -> tuple[int, int]:
    """Bytes of one layer, and how much of them is only there where groups are kept in a type of their own."""
    more = sum([group.run_bytes(dtype) - group.n_bytes(dtype) for group in layer.weights if group.run_dtype])
    return sum([group.run_bytes(dtype) for group in layer.weights]), more


def _formula(model: ModelSpec, dtype: str) -> tuple[str, Mapping[str, int | str]]:
    """All parameters in one type; of several types, the bytes in each, the most first."""
    if not _mixed(model, dtype):
        return "{n_params} parameters as {dtype}", {"n_params": model.n_params, "dtype": dtype}
    sizes: dict[str, int] = {}
    for group in model.groups():
        kept = group.run_dtype or group.dtype or dtype
        sizes[kept] = sizes.get(kept, 0) + group.run_bytes(dtype)
    held = {kept: size for kept, size in sorted(sizes.items(), key=lambda item: -item[1]) if size}
    terms = " + ".join(f"{{{kept}}} B as {kept}" for kept in held)
    return f"{{n_params}} parameters: {terms}", {"n_params": model.n_params, **held}


def _mixed(model: ModelSpec, dtype: str) -> bool:
    """Whether some group is kept in another type than ``dtype``."""
    layers = {id(run.layer): run.layer for run in model.runs}.values()
    groups = chain(model.weights, *(layer.weights for layer in layers))
    return any((group.run_dtype or group.dtype) not in (None, dtype) for group in groups)
