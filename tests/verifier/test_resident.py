"""What the kernel says of the process, beside its tensors."""

import sys
from pathlib import Path

import pytest

from kvplan.core.ledger import exactly
from kvplan.core.units import GIB, MIB
from kvplan.verifier import verify
from kvplan.verifier.observed import rss
from kvplan.verifier.record import Device, Job, Phase, Record, Snapshot
from tests.verifier.models import LLAMA, write

BLANK = Record(Job("x", {}, "bfloat16", 24, 1, 23), "ran", None, "", {}, Device("cpu", "", None, None, None), Snapshot(process_bytes=GIB))


def phase(live: int, resident: int | None) -> Phase:
    return Phase(1, 0.1, 0, 0, Snapshot(peak_allocated_bytes=live, peak_process_bytes=resident))


@pytest.mark.parametrize(
    ("grown", "ok"),
    [
        pytest.param(4 * GIB, True, id="as much as the tensors"),
        pytest.param(5 * GIB, True, id="a quarter more: scratch of kernels"),
        pytest.param(5 * GIB + 1, False, id="more: tensors were missed"),
        pytest.param(3 * GIB - 1, False, id="less: tensors were counted that are not there"),
    ],
)
def test_the_process_grows_with_its_tensors(grown: int, ok: bool) -> None:  # noqa: FBT001 - a case
    (term,) = rss(BLANK._replace(prefill=phase(4 * GIB, GIB + grown)))
    assert (term.term, term.phase, term.estimate, term.measured_bytes) == ("rss", "prefill", exactly(4 * GIB), grown)
    assert term.ok is ok


def test_small_runs_have_room_for_what_no_tensor_takes() -> None:
    terms = tuple(rss(BLANK._replace(prefill=phase(0, GIB + 256 * MIB), decode=phase(0, GIB + 257 * MIB))))
    assert [term.ok for term in terms] == [True, False]


def test_where_the_kernel_tells_nothing_nothing_is_compared() -> None:
    assert not tuple(rss(BLANK._replace(prefill=phase(GIB, None))))
    assert not tuple(rss(BLANK._replace(before=Snapshot(), prefill=phase(GIB, GIB))))


@pytest.mark.torch
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_run_on_the_processor_is_held_against_its_process(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    larger = LLAMA | {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 32, "vocab_size": 20000}
    found = verify(write(tmp_path, larger), ctx=64, prompt=60, backend="cpu", repeats=0, timeout_s=240)
    terms = {(term.term, term.phase): term for term in found.terms}
    assert {name for name in terms if name[0] == "rss"} == {("rss", "prefill"), ("rss", "decode")}
    assert found.ok, found.terms
    assert terms["rss", "prefill"].measured_bytes > 150 * MIB  # the weights alone


@pytest.mark.torch
def test_without_proc_only_tensors_are_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    from kvplan.verifier.child import resident

    monkeypatch.setattr(resident, "_PROCESS", tmp_path)
    meter = resident.ResidentMeter()
    meter.restart()
    assert meter.before() == Snapshot()
    assert meter.snapshot() == Snapshot(allocated_bytes=0, peak_allocated_bytes=0)
