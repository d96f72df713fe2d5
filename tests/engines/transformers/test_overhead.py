"""What a process holds beside its tensors: contexts, workspaces, the allocator's rest."""

import pytest

from kvplan.core.ledger import Interval
from kvplan.core.units import MIB
from kvplan.core.workload import Workload
from kvplan.engines.transformers import overhead
from tests.engines.transformers.running import deployment, gpu, model


@pytest.mark.parametrize(
    ("capability", "low", "best"),
    [
        # PyTorch 2.13 CublasHandlePool.cpp; 8519680 B on an A10G: pytorch issue 95668
        pytest.param((8, 6), 8_519_680, 8_519_680, id="A10G"),
        pytest.param((9, 0), 32 * MIB, 32 * MIB, id="H100"),
        pytest.param((10, 0), 32 * MIB, 32 * MIB, id="B200"),
        pytest.param((12, 0), 32 * MIB, 32 * MIB, id="RTX 50"),
        pytest.param(None, 8_519_680, 32 * MIB, id="unknown"),
    ],
)
def test_workspace(capability: tuple[int, int] | None, low: int, best: int) -> None:
    assert overhead.workspace(gpu(capability).gpus[0]).size == Interval(low, best, best)


CONSTANTS = [value for value in vars(overhead).values() if isinstance(value, overhead.Constant)]


@pytest.mark.parametrize("constant", CONSTANTS)
def test_constants_hold_their_rows_and_are_calibrated_by_three_of_them(constant: overhead.Constant) -> None:
    for row in constant.rows:
        assert constant.size.low <= row.mib * MIB <= constant.size.high
        assert row.source
    named = {(row.gpu, row.source) for row in constant.rows if row.gpu}
    assert constant.basis == ("calibrated" if len(named) >= 3 else "modeled")


def test_a_third_named_card_calibrates() -> None:
    third = overhead.Row("RTX 4090", "2.13", 300, "a third source")
    assert overhead.AMPERE_AND_ADA._replace(rows=(*overhead.CONTEXT_ROWS, third)).basis == "calibrated"


def test_contexts_nobody_read_are_wider() -> None:
    sizes = [overhead.runtime_context(gpu(capability, vendor=vendor).gpus[0]).size for capability, vendor in CARDS]
    widths = [size.high - size.low for size in sizes]
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


CARDS: list[tuple[tuple[int, int] | None, str]] = [((8, 9), "NVIDIA"), ((9, 0), "NVIDIA"), (None, "AMD")]


@pytest.mark.parametrize(
    ("vendor", "names"),
    [
        pytest.param("NVIDIA", {"CUDA context", "cuBLAS workspace"}, id="NVIDIA"),
        pytest.param("", {"CUDA context", "cuBLAS workspace"}, id="a size without a maker"),
        pytest.param("AMD", {"ROCm context", "matrix workspace"}, id="AMD"),
        pytest.param("Apple", {"Metal context", "matrix workspace"}, id="Apple"),
        pytest.param("Google", {"device context", "matrix workspace"}, id="no runtime that we name"),
    ],
)
def test_overheads_are_named_by_their_maker(vendor: str, names: set[str]) -> None:
    found = {entry.term: entry for entry in deployment(model(), node=gpu(None, vendor=vendor)).entries(Workload(40, 2, 30))}
    assert {found[term].name for term in ("workspace", "runtime_context")} == names
    assert {found[term].basis for term in ("workspace", "runtime_context")} == {"modeled"}
