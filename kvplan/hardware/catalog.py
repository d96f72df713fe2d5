"""The catalogue of accelerators in gpus.tsv."""

from functools import cache
from pathlib import Path

from kvplan.core.device import Gpu, Node
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import GIB, MIB

_TSV = Path(__file__).with_name("gpus.tsv")


@cache
def rows() -> dict[str, dict[str, str]]:
    """Every row by id, as text."""
    header, *lines = _TSV.read_text(encoding="utf-8").splitlines()
    names = header.split("\t")
    return {line.split("\t", 1)[0]: dict(zip(names, line.split("\t"), strict=True)) for line in lines}


def find(name: str) -> Gpu:
    """The accelerator called ``name``. Raises RequestError with near matches."""
    row = rows().get(name.lower())
    if row is None:
        raise RequestError("unknown_gpu", f"unknown GPU '{name}'", hint=did_you_mean(name, rows()) or "`kvplan gpus` shows all")
    driver = int(float(row["driver_total_mib"] or 0)) * MIB
    cuda = int(float(row["torch_total_gib"]) * GIB) if row["torch_total_gib"] else driver
    return Gpu(id=row["id"], name=row["name"], vendor=row["vendor"], driver_bytes=driver or cuda, cuda_bytes=cuda)


def node(text: str, *, n_gpus: int | None) -> Node:
    """The node that ``--gpu`` names."""
    return Node(id=text, source="flag", gpus=(find(text),) * (n_gpus or 1))


def candidates(least_bytes: int) -> tuple[Gpu, ...]:
    """GPUs of at least ``least_bytes``, smallest first."""
    gpus = [find(name) for name in rows()]
    return tuple(sorted((gpu for gpu in gpus if gpu.cuda_bytes >= least_bytes), key=lambda gpu: gpu.cuda_bytes))
