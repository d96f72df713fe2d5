"""What a model's weights are for: parameters and bytes by role, and what its checkpoint holds besides."""

from kvplan.core import shares as core_shares
from kvplan.core.checkpoint import PARTS, Checkpoint, Part
from kvplan.core.model import ModelSpec
from kvplan.core.units import format_size
from kvplan.render.table import aligned


def by_role(spec: ModelSpec) -> list[str]:
    """A line a role, and the total; active parameters where they are fewer."""
    held = [share for share in core_shares.by_role(spec) if share.n_params or share.n_bytes]
    mixture = spec.n_active_params != spec.n_params
    rows = [(str(share.role), share.n_params, share.n_active, share.n_bytes) for share in held]
    rows.append(("total", spec.n_params, spec.n_active_params, core_shares.stored_bytes(spec)))
    head = ("", "parameters", *(("active",) if mixture else ()), "bytes stored")
    cells = [(role, f"{n:,}", *((f"{active:,}",) if mixture else ()), f"{size:,}") for role, n, active, size in rows]
    return aligned([head, *cells])


def stored_as(spec: ModelSpec) -> str:
    """The quantization, where there is one, and the element type of the rest."""
    return f"{spec.quantization} and {spec.stored_dtype}" if spec.quantization else spec.stored_dtype


def besides(spec: ModelSpec) -> list[str]:
    """What its files hold, with an empty line behind; by arithmetic where their headers were not read."""
    if spec.checkpoint is not None:
        return [*_by_part(spec.checkpoint), ""]
    return [f"its checkpoint also holds next-token layers, {spec.mtp_bytes:,} B", ""] if spec.mtp_bytes else []


def _by_part(checkpoint: Checkpoint) -> list[str]:
    """The files, and each part of them that is there."""
    if checkpoint.basis == "file sizes":
        return [f"{_files(checkpoint)}; their headers were not read"]
    rows = [(f"  {name}", f"{checkpoint.bytes_in(part):,} B", _types(checkpoint, part)) for part, name in PARTS.items()]
    return [_files(checkpoint), *aligned([row for row in rows if row[2]], left=frozenset({0, 2}))]


def _files(checkpoint: Checkpoint) -> str:
    plural = "" if checkpoint.n_files == 1 else "s"
    name = "GGUF" if checkpoint.format == "gguf" else checkpoint.format
    return f"{checkpoint.n_files} {name} file{plural}, {format_size(checkpoint.file_bytes)}"


def _types(checkpoint: Checkpoint, part: Part) -> str:
    """Element types of a part, the one with most bytes first."""
    sums: dict[str, int] = {}
    for held in checkpoint.holdings:
        if held.part == part:
            sums[held.dtype] = sums.get(held.dtype, 0) + held.n_bytes
    return ", ".join(sorted(sums, key=lambda dtype: -sums[dtype]))
