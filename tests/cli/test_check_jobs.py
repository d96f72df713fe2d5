"""Large trees in several processes: the same answer, whoever read the files."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kvplan.checker import processes, walk
from kvplan.checker.reader import Part, Reader
from kvplan.core.errors import RequestError, UnavailableError
from tests.bench.check_tree import DEPLOYMENTS, KINDS, write
from tests.running import Run, refused

N_FILES = 120


@pytest.fixture
def large(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tree, N_FILES, (*DEPLOYMENTS, *KINDS))
    (tree / "broken.yaml").write_text("kind: Pod\ncontainers: [vllm, {\n", encoding="utf-8")
    monkeypatch.setattr(processes, "_CHUNK", 16)
    monkeypatch.setattr(processes, "_PAYS_S", {"fork": 0.0, "spawn": 0.0})
    return tree


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_the_same_bytes_whoever_reads(kvplan: Run, large: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    monkeypatch.setattr(processes, "method", lambda: method)
    alone = kvplan("check", "--gpu", "l4", "--json", "--jobs", "1")
    started: list[int] = []
    shared = processes._shared

    def counting(chunks: Sequence[Sequence[walk.Place]], job: processes.Job, jobs: int, how: str) -> Iterator[Part]:
        started.append(jobs)
        return shared(chunks, job, jobs, how)

    monkeypatch.setattr(processes, "_shared", counting)
    together = kvplan("check", "--gpu", "l4", "--json", "--jobs", "3")
    assert alone == together
    assert started == [3]


def test_few_files_start_nothing(kvplan: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, 60, KINDS)
    monkeypatch.setattr(processes, "_shared", lambda *asked: pytest.fail("a process was started"))
    assert kvplan("check", "--jobs", "8").code == 0


def test_what_a_process_refuses_is_refused(kvplan: Run, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Reader.read

    def refusing(self: Reader, places: object) -> Part:
        if os.getpid() != here:
            raise RequestError("odd", "this can't be", hint="do that")
        return read(self, places)  # type: ignore[arg-type]  # passed through

    here = os.getpid()
    monkeypatch.setattr(Reader, "read", refusing)
    monkeypatch.setattr(processes, "method", lambda: "fork")
    assert refused(kvplan, "check", "--jobs", "2") == "error: this can't be\nhint: do that\n"


def test_a_process_that_is_killed_is_said(kvplan: Run, large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Reader.read

    def dying(self: Reader, places: object) -> Part:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return read(self, places)  # type: ignore[arg-type]  # passed through

    here = os.getpid()
    monkeypatch.setattr(Reader, "read", dying)
    monkeypatch.setattr(processes, "method", lambda: "fork")
    code, out, err = kvplan("check", "--jobs", "2")
    assert (code, out) == (3, "")
    assert "--jobs 1" in err


def test_an_interruption_ends_all_without_a_word(tree: Path) -> None:
    write(tree, 4000, DEPLOYMENTS)
    root = str(Path(__file__).parent.parent.parent)
    with subprocess.Popen(
        [sys.executable, "-m", "kvplan", "check", "--gpu", "l4", "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": root},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # no threads here
    ) as running:
        children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
        end = time.monotonic() + 30
        while not children.read_text().split() and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert (running.returncode, out, err) == (130, b"", b"")
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1000"])
def test_jobs_that_are_none(kvplan: Run, tree: Path, text: str) -> None:
    assert "--jobs" in refused(kvplan, "check", "--jobs", text)


def test_an_error_survives_a_pipe() -> None:
    import pickle

    found = pickle.loads(pickle.dumps(UnavailableError("kind", "message", hint="hint", details=("a", "b"))))
    assert isinstance(found, UnavailableError)
    assert (found.kind, found.message, found.hint, found.details) == ("kind", "message", "hint", ("a", "b"))
