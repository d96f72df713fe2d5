"""Which files of a folder or repository are the checkpoint, and what their headers make of a ModelSpec."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from kvplan.core.checkpoint import Checkpoint, Tensor
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.specs.holdings import checkpoint_of
from kvplan.specs.reconciled import reconciled
from kvplan.specs.safetensors import read_header
from kvplan.specs.sources import Source

Index = Callable[[str], Mapping[str, object]]
"""Reads the index file of that name."""

_NO_MODEL = re.compile(r"(consolidated|adapter_|diffusion_|optimizer|scheduler|training_|rng_state|scaler|random_states)", re.IGNORECASE)
_PART = re.compile(r"(.+)-(\d+)-of-(\d+)((?:\.[\w-]+)*)")
_VARIANT = re.compile(r"model\.[\w-]+\.safetensors")


class WeightFiles(NamedTuple):
    """The files of one checkpoint, by name with their sizes."""

    format: Literal["safetensors", "torch"]
    sizes: Mapping[str, int]

    @property
    def n_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(self.sizes.values())


def choose(files: Mapping[str, int], index: Index) -> WeightFiles | None:
    """The checkpoint among ``files`` (paths with sizes), None where there is none that Transformers would load by itself.

    model.safetensors, else the shards of its index, else the one other set of safetensors files in the folder itself;
    without any PyTorch's pickles in the same order. Folders inside hold other formats. Raises RequestError where an index
    is none or a shard is missing. Source: transformers 5.24 modeling_utils.py, _get_resolved_checkpoint_files.
    """
    safetensors = _named(files, index, "model.safetensors") or _only_set(files, ".safetensors")
    if safetensors:
        return WeightFiles("safetensors", safetensors)
    pickles = _named(files, index, "pytorch_model.bin") or _only_set(files, ".bin") or _only_set(files, ".pth")
    return WeightFiles("torch", pickles) if pickles else None


def with_weights(spec: ModelSpec, chosen: WeightFiles, open_source: Callable[[str], Source]) -> ModelSpec:
    """``spec`` with what the headers of ``chosen`` say: its checkpoint, what is exact now, and what does not agree.

    Pickles have no headers: their sizes stand for them. Raises KvplanError for files that can't be read and for a tensor
    that two of them hold.
    """
    if chosen.format == "torch":
        return with_sizes(spec, chosen)
    holders: dict[str, str] = {}
    tensors: list[Tensor] = []
    for file in chosen.sizes:
        for tensor in read_header(open_source(file)):
            if tensor.name in holders:
                message = f"tensor '{tensor.name}' is in {holders[tensor.name]} and again in {file}"
                raise RequestError("bad_safetensors", message, hint="the files are of different checkpoints: download them anew")
            holders[tensor.name] = file
            tensors.append(tensor)
    return reconciled(spec, checkpoint_of(spec, tensors, len(chosen.sizes), chosen.n_bytes), tensors)


def with_sizes(spec: ModelSpec, chosen: WeightFiles) -> ModelSpec:
    """``spec`` with the sizes of ``chosen`` alone, where no headers can be read."""
    return reconciled(spec, Checkpoint(chosen.format, "file sizes", len(chosen.sizes), chosen.n_bytes, chosen.n_bytes), ())


def _named(files: Mapping[str, int], index: Index, name: str) -> dict[str, int]:
    """The file ``name`` itself, or the shards of its index."""
    if name in files:
        return {name: files[name]}
    listing = f"{name}.index.json"
    return {shard: files[shard] for shard in _shards(files, index(listing), listing)} if listing in files else {}


def _shards(files: Mapping[str, int], index: Mapping[str, object], listing: str) -> list[str]:
    placed = index.get("weight_map")
    if not isinstance(placed, Mapping) or not placed or not all(isinstance(shard, str) for shard in placed.values()):
        raise RequestError("bad_index", f"{listing}: weight_map: expected the file of each tensor", hint="download the file anew")
    shards = sorted(set(placed.values()))
    missing = [shard for shard in shards if shard not in files]
    if missing:
        raise _missing(f"{listing} names {len(shards)}", missing)
    return shards


def _only_set(files: Mapping[str, int], suffix: str) -> dict[str, int]:
    """The files of the one set that ends in ``suffix``, numbered parts being one; variants count where nothing else does."""
    sets: dict[str, list[str]] = {}
    for name in sorted(files):
        if "/" not in name and name.endswith(suffix) and not _NO_MODEL.match(name):
            part = _PART.fullmatch(name.removesuffix(suffix))
            sets.setdefault(f"{part[1]}{part[4]}{suffix}" if part else name, []).append(name)
    plain = [name for name in sets if not _VARIANT.fullmatch(name)]
    kept = plain or list(sets)
    if len(kept) != 1:
        return {}
    parts = sets[kept[0]]
    _check_parts(parts, suffix)
    return {name: files[name] for name in parts}


def _check_parts(names: list[str], suffix: str) -> None:
    """Raises RequestError where one of numbered parts is missing."""
    found = _PART.fullmatch(names[0].removesuffix(suffix))
    if found is None or len(names) == int(found[3]):
        return
    stem, number, total, variant = found.groups()
    wanted = (f"{stem}-{i:0{len(number)}}-of-{total}{variant}{suffix}" for i in range(1, min(int(total), 10**4) + 1))
    raise _missing(f"{names[0]} is of {int(total)}", [name for name in wanted if name not in names])


def _missing(where: str, names: list[str]) -> RequestError:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return RequestError(
        "missing_weights", f"{where} files: {names[0] if names else 'one'} is not there{more}", hint="download what is missing"
    )
