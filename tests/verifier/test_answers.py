"""What the measuring process answers, or does not."""

import sys
from pathlib import Path

import pytest

from kvplan.core.errors import UnavailableError
from kvplan.core.units import GIB
from kvplan.render.verification import as_json, text
from kvplan.verifier import verify
from kvplan.verifier.process import ChildError, measure
from kvplan.verifier.record import Job
from tests.hardware.memory import fake_memory, hide_memory
from tests.verifier.models import LLAMA, write
from tests.verifier.pretended import child, ended, pretend_torch


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param("import sys; sys.stderr.write('boom'); sys.exit(7)", "code 7: boom", id="dies"),
        pytest.param("print('no record')", "wrote nothing", id="babbles"),
        pytest.param("import os; os.kill(os.getpid(), 9)", "was killed", id="is killed"),
        pytest.param("import time; time.sleep(60)", "within 0.5 s", id="hangs"),
    ],
)
def test_a_process_that_gives_no_record(tmp_path: Path, script: str, words: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!{sys.executable}\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(ChildError, match=words):
        measure(Job("x", {}, "float32", 2, 1, 1), timeout_s=0.5 if "sleep" in script else 60, python=str(python))


def answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, stdout: str = "", code: int = 0) -> None:
    """The measuring process at the border: it ends with this."""
    pretend_torch(monkeypatch)
    fake_memory(monkeypatch, tmp_path, total_bytes=64 * GIB, available_bytes=64 * GIB)
    child(monkeypatch, lambda _: stdout, code=code)


def test_a_process_that_dies_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, tmp_path, code=3)
    with pytest.raises(UnavailableError, match="code 3: boom"):
        verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")


@pytest.mark.parametrize("outcome", ["failed", "refused"])
def test_a_run_that_fails_is_no_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, outcome: str) -> None:
    answered(monkeypatch, tmp_path, stdout=ended(outcome))
    with pytest.raises(UnavailableError, match="words of the run"):
        verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")


def test_running_out_of_memory_is_an_answer_and_not_ok(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answered(monkeypatch, tmp_path, stdout=f"a library's chatter\n{ended('oom')}\n")
    found = verify(write(tmp_path, LLAMA), ctx="24", backend="cpu")
    assert not found.ok
    assert found.terms == ()
    assert as_json(found)["timings"] is None


def test_a_trace_needs_no_memory_and_says_what_it_can_not_see(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started = child(monkeypatch, lambda _: ended("ran", "trace"))
    pretend_torch(monkeypatch)
    hide_memory(monkeypatch, tmp_path)
    found = verify("llama-3-70b", ctx="32k", batch="8", backend="trace")
    assert [process.environment["CUDA_VISIBLE_DEVICES"] for process in started] == [""]
    assert as_json(found)["tier"] == "trace"
    missed = as_json(found)["not_modeled"]
    assert isinstance(missed, list)
    assert [one["id"] for one in missed] == ["kernel_scratch", "runtime_context", "cuda_graphs", "allocator_history"]
    assert as_json(found)["timings"] is None
    assert "not seen: scratch within kernels" in text(found)
