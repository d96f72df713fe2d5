"""The catalogue of GPUs as a table or JSON."""

from kvplan.core.device import Gpu
from kvplan.core.units import GIB
from kvplan.hardware import catalog, names
from kvplan.render.envelope import document
from kvplan.render.table import aligned

_HEAD = ("id", "name", "driver GiB", "usable GiB", "GB/s", "bf16 TFLOPS", "arch")


def listing(words: str, *, as_json: bool) -> str:
    """Every GPU whose row holds all ``words``, else the one that they mean. Raises RequestError when there is none."""
    wanted = words.lower().split()
    found = [gpu_id for gpu_id, row in catalog.rows().items() if all(word in " ".join(row.values()).lower() for word in wanted)]
    gpus = [catalog.find(gpu_id) for gpu_id in found or [names.resolve(words).id]]
    if as_json:
        return document({"gpus": [_fields(gpu) for gpu in gpus]})
    lines = aligned([_HEAD, *(_row(gpu) for gpu in gpus)], left=frozenset({0, 1, 6}))
    return "\n".join(
        (*lines, "", "usable is what CUDA or its like gives a process; ≈: the driver's total, less what such cards keep back", "")
    )


def _row(gpu: Gpu) -> tuple[str, ...]:
    arch = ".".join(map(str, gpu.compute_capability)) if gpu.compute_capability else gpu.gfx or ""
    known = "" if gpu.cuda_total_known else "≈ "
    return (
        gpu.id,
        gpu.name,
        f"{gpu.driver_bytes / GIB:.2f}",
        f"{known}{gpu.cuda_bytes / GIB:.2f}",
        f"{gpu.bandwidth_gb_s:g}" if gpu.bandwidth_gb_s else "",
        f"{gpu.bf16_tflops:g}" if gpu.bf16_tflops else "",
        arch,
    )


def _fields(gpu: Gpu) -> dict[str, object]:
    return {**gpu._asdict(), "verified": sorted(gpu.verified)}
