"""The catalogue of accelerators: one card by any of its names, the node that ``--gpu`` describes, the cards by size."""

import re
from functools import cache

from kvplan.core.device import UNKNOWN_NODE, Gpu, Node
from kvplan.core.errors import RequestError
from kvplan.core.units import GIB, MIB
from kvplan.hardware import names, table

MAX_GPUS = 1024

# What CUDA keeps back of the driver's total: NVML's `reserved`. 12,288 MiB less 380 reserved is the 11.63 GiB that PyTorch
# prints for an RTX 3060, 24,576 less 316 the 23.69 GiB of an RTX 3090. Where a row has no CUDA total, this is subtracted:
# the median of the rows whose CUDA total was read off a machine (NVIDIA: 15 rows from 236 to 768 MiB, neither constant nor
# a share of the size; AMD's two totals are the same). A test keeps the figure true.
RESERVED_MIB = {"NVIDIA": 490}


def rows() -> dict[str, dict[str, str]]:
    """Every row by id, as text."""
    return {gpu_id: table.row(gpu_id) for gpu_id in table.ids()}


def find(name: str) -> Gpu:
    """The accelerator that ``name`` means: an id, an alias, a Kubernetes label or what people call it.

    Raises RequestError with near matches for an unknown or ambiguous name.
    """
    return _gpu(names.resolve(name).id)


def node(text: str, *, n_gpus: int | None = None) -> Node:
    """The node that ``--gpu text --gpus n_gpus`` names.

    ``text`` is a card, ``card:8``, unequal cards as ``card+card``, ``local`` (every attached GPU, or the first
    ``n_gpus``) or ``none``. Raises RequestError for unknown cards, counts below 1 or beyond MAX_GPUS and two counts that
    contradict each other; UnavailableError when ``local`` finds no GPU.
    """
    if n_gpus is not None:
        _checked(n_gpus, f"--gpus {n_gpus}")
    text = text.strip()
    if text.lower() == "local":
        from kvplan.hardware import probe

        return probe.required(n_gpus)
    if text.lower() == "none":
        return _no_gpu(n_gpus)
    parts = [_part(part) for part in _split(text)]
    if len(parts) == 1 and parts[0][1] is None:
        parts = [(parts[0][0], n_gpus)]
    gpus = tuple(_gpu(match.id) for match, count in parts for _ in range(count or 1))
    _checked(len(gpus), f"--gpu {text}")
    if n_gpus not in (None, len(gpus)):
        raise RequestError("contradiction", f"--gpu {text} names {len(gpus)} GPUs, --gpus says {n_gpus}", hint="give one of the two counts")
    notes = tuple(match.note for match, _ in parts if match.note)
    return Node(id=label(gpus), source="flag", gpus=gpus, notes=notes)


def candidates(least_bytes: int) -> tuple[Gpu, ...]:
    """Cards to propose, smallest first: discrete, on sale under that name, memory verified, at least ``least_bytes`` for a process."""
    return tuple(gpu for gpu in _by_size() if gpu.cuda_bytes >= least_bytes)


def label(gpus: tuple[Gpu, ...]) -> str:
    """The ids of ``gpus`` as ``node`` reads them, equal neighbors once; the count is left to the node where all are equal."""
    kinds = list(dict.fromkeys(gpu.id for gpu in gpus))
    counts = [sum(gpu.id == kind for gpu in gpus) for kind in kinds]
    if len(kinds) == 1:
        return kinds[0]
    return "+".join(kind if count == 1 else f"{kind}:{count}" for kind, count in zip(kinds, counts, strict=True))


def _split(text: str) -> list[str]:
    """``text`` at each plus sign, unless it is itself a card's name (``AI Max+ 395``)."""
    return [text] if "+" not in text or names.is_spelled(text) else text.split("+")


def _part(text: str) -> tuple[names.Match, int | None]:
    """The card and count of ``card`` or ``card:8``."""
    name, colon, count = text.partition(":")
    if name.strip().lower() in ("local", "none"):
        raise RequestError("bad_number", f"--gpu {text}: '{name.strip()}' stands alone", hint="say --gpu local --gpus 2")
    match = names.resolve(name.strip())
    if not colon:
        return match, None
    if not re.fullmatch(r"[0-9]{1,9}", count):
        raise RequestError(
            "bad_number", f"--gpu {text}: expected a number of GPUs after the colon, found '{count}'", hint=f"for example {match.id}:8"
        )
    return match, _checked(int(count), f"--gpu {text}")


def _checked(count: int, said: str) -> int:
    if not 1 <= count <= MAX_GPUS:
        raise RequestError(
            "bad_number",
            f"{said}: expected 1 to {MAX_GPUS} GPUs, found {count}",
            hint="say how many cards the model runs on, for example --gpus 8",
        )
    return count


def _no_gpu(n_gpus: int | None) -> Node:
    if n_gpus is not None and n_gpus > 1:
        raise RequestError(
            "contradiction", f"--gpu none and --gpus {n_gpus} contradict each other", hint="name the GPU, or leave --gpus out"
        )
    return UNKNOWN_NODE


@cache
def _by_size() -> tuple[Gpu, ...]:
    return tuple(sorted((_gpu(gpu_id) for gpu_id in _proposable()), key=lambda gpu: gpu.cuda_bytes))


def _proposable() -> list[str]:
    kinds = ("datacenter", "workstation", "consumer")
    found = ((gpu_id, table.row(gpu_id)) for gpu_id in table.ids())
    return [gpu_id for gpu_id, row in found if row["kind"] in kinds and not row["unified"] and "driver_total_mib" in row["verified"]]


@cache
def _gpu(gpu_id: str) -> Gpu:
    """The row as a value; a missing CUDA total is estimated, see RESERVED_MIB."""
    row = table.row(gpu_id)
    verified = frozenset(filter(None, row["verified"].split(",")))
    driver_mib, cuda_gib, isa = int(row["driver_total_mib"]), row["cuda_total_gib"], row["isa"]
    reserved_mib = 0 if row["unified"] else RESERVED_MIB.get(row["vendor"], 0)
    major, dot, minor = isa.partition(".")
    return Gpu(
        id=gpu_id,
        name=row["name"],
        vendor=row["vendor"],
        driver_bytes=driver_mib * MIB,
        cuda_bytes=int(float(cuda_gib) * GIB) if cuda_gib else (driver_mib - reserved_mib) * MIB,
        cuda_total_known="cuda_total_gib" in verified,
        compute_capability=(int(major), int(minor)) if dot else None,
        bandwidth_gb_s=_rate(row, "bandwidth_gb_s"),
        bf16_tflops=_rate(row, "bf16_tflops"),
        fp16_tflops=_rate(row, "fp16_tflops"),
        fp8_tflops=_rate(row, "fp8_tflops"),
        int8_tops=_rate(row, "int8_tops"),
        fp4_tflops=_rate(row, "fp4_tflops"),
        gfx=isa if isa.startswith("gfx") else None,
        kind=row["kind"],
        unified=bool(row["unified"]),
        memory_type=row["memory_type"],
        interconnect=row["interconnect"],
        verified=verified,
        source=row["source"],
    )


def _rate(row: dict[str, str], column: str) -> float | None:
    return float(row[column]) if row[column] else None
