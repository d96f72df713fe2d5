import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvplan.core.units import GIB
from kvplan.specs.build import build
from kvplan.verifier import jobs, measure
from kvplan.verifier.boundary import Boundary, search
from kvplan.verifier.record import Job, Record
from kvplan.verifier.sizing import Sizing
from kvplan.verifier.task import Task, as_line, load
from tests.verifier.sized import H200

ROOT = Path(__file__).parent.parent.parent
JOBS = ROOT / "reports" / "jobs.jsonl"


def test_the_jobs_are_those_of_the_built_in_models() -> None:
    assert JOBS.read_text(encoding="utf-8") == jobs.text(), "python -m kvplan.verifier.jobs > reports/jobs.jsonl"
    assert load(JOBS) == jobs.tasks()


def test_every_job_stays_within_its_model_and_an_80_gb_gpu() -> None:
    for job, _ in jobs.tasks():
        model = build(job.config, where=job.id)
        assert 0 < job.prompt_tokens < job.ctx_tokens <= (model.max_ctx_tokens or job.ctx_tokens)
        assert model.weight_bytes < 65 * GIB


def test_what_tells_most_comes_first() -> None:
    kinds = [{mixer.kind for run in build(job.config, where=job.id).runs for mixer in run.layer.mixers} for job, _ in jobs.tasks()[:7]]
    assert {"full", "sliding", "mla"} <= set().union(*kinds)
    assert [job.use_cache for job, _ in jobs.tasks() if job.id == jobs.PAIRED and job.ctx_tokens == 256] == [True, False]
    assert sum(task.finds_batch for task in jobs.tasks()) == 2


def test_measuring_needs_the_standard_library_alone() -> None:
    """The parent's modules, imported by an interpreter without site-packages."""
    look = "Sizing(H200).why_not(load(Path('reports/jobs.jsonl'))[0].job)"
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
import kvplan.verifier.measure
from kvplan.verifier.sizing import Sizing
from kvplan.verifier.task import load
from tests.verifier.sized import H200
assert {look} is None
print([m for m in sys.modules if m in ('click', 'pydantic', 'yaml', 'torch', 'rich')])
"""
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_job_that_dies_is_told_and_the_others_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = json.dumps(as_line(jobs.tasks()[0]) | {"device": "cpu"})
    (tmp_path / "jobs.jsonl").write_text(f"{line}\n\n{line}\n")
    assert measure.main([str(tmp_path / "jobs.jsonl"), "--out", str(tmp_path / "out"), "--timeout", "0.01"]) == 1
    assert capsys.readouterr().out.count("llama-3.1-8b ctx 4096 x 8: failed: no answer within 0.01 s") == 2
    assert not (tmp_path / "out").exists()


def test_without_a_gpu_nothing_is_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "measure", lambda job, **_: H200._replace(job=job, outcome="failed", error="torch sees no CUDA device"))
    assert measure.main([str(JOBS), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().out == "tiny ctx 24 x 1: failed, torch sees no CUDA device\n"
    assert list(tmp_path.iterdir()) == []


class Machine:
    """A GPU of so many bytes where each run takes a minute of its own clock and needs what the estimate says at best."""

    def __init__(self, total_bytes: int, *, minute: float = 60.0) -> None:
        self.look = H200._replace(device=H200.device._replace(name="NVIDIA X1", cuda_total_bytes=total_bytes))
        self.now, self._minute = 0.0, minute
        self.ran: list[Job] = []

    def clock(self) -> float:
        return self.now

    def measure(self, job: Job, *, timeout_s: float) -> Record:
        self.ran.append(job)
        self.now += min(self._minute, timeout_s)
        fits = Sizing(self.look).why_not(job) is None or job.id == "tiny"
        return self.look._replace(job=job, outcome="ran" if fits else "oom")


def run_all(machine: Machine, tasks: list[Task], folder: Path, monkeypatch: pytest.MonkeyPatch, *, seconds: float = 9000.0) -> None:
    monkeypatch.setattr(measure, "measure", machine.measure)
    measure._run_all(measure.Session(folder, seconds=seconds, timeout_s=120.0, clock=machine.clock), tasks)


def test_jobs_are_those_that_the_gpu_is_large_enough_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(20 * GIB)
    run_all(machine, jobs.tasks()[:7], tmp_path, monkeypatch)
    assert {"deepseek-v2-lite", "qwen3-30b-a3b"}.isdisjoint(job.id for job in machine.ran)
    assert {"tiny", "mistral-7b-v0.1", "olmoe-1b-7b"} <= {job.id for job in machine.ran}
    assert "qwen3-30b-a3b ctx 4096 x 4: left out: probably needs" in capsys.readouterr().out
    assert len(list(tmp_path.iterdir())) == len(machine.ran) - 1, "a record of each, but of the look at the device"


def test_the_largest_batch_is_found_from_the_estimate_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = Machine(24 * GIB)
    (task,) = [task for task in jobs.tasks() if task.finds_batch and task.job.id == "llama-3.2-1b"]
    run_all(machine, [task], tmp_path, monkeypatch)
    (file,) = (tmp_path / "boundaries").iterdir()
    assert file.name == "nvidia-x1_llama-3.2-1b_ctx8192_boundary_2026-11-29T150001Z.json"
    answer = json.loads(file.read_text())
    assert answer["ran_batch"] == answer["estimated_probable_batch"], "this machine does what the estimate says"
    assert answer["failed_batch"] == answer["ran_batch"] + 1
    assert answer["estimated_certain_batch"] < answer["ran_batch"]
    assert [one["batch"] for one in answer["tries"]] == [job.batch for job in machine.ran[1:]]
    assert "llama-3.2-1b ctx 8192: largest batch: " in capsys.readouterr().out


def test_no_job_is_begun_when_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine(140 * GIB)
    run_all(machine, jobs.tasks(), tmp_path, monkeypatch, seconds=200.0)
    assert machine.now <= 200.0
    assert len(machine.ran) == 4
    assert f"the time is up: {len(jobs.tasks()) - 3} of {len(jobs.tasks())} not measured" in capsys.readouterr().out


def test_a_search_that_runs_out_of_time_keeps_what_it_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = [task for task in jobs.tasks() if task.finds_batch and task.job.id == "gemma-3-1b"]
    run_all(Machine(24 * GIB), [task], tmp_path, monkeypatch, seconds=130.0)
    (file,) = (tmp_path / "boundaries").iterdir()
    answer = json.loads(file.read_text())
    assert answer["is_found"] is False
    assert len(answer["tries"]) == 1


def test_an_interruption_ends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(job: Job, **_: object) -> Record:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure", interrupted)
    assert measure.main([str(JOBS), "--out", str(tmp_path)]) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("truth", [1, 2, 7, 99, 100, 101, 150, 1000])
@pytest.mark.parametrize("start", [0, 1, 100])
def test_the_search_ends_near_the_truth(truth: int, start: int) -> None:
    found = search(start, lambda batch: batch <= truth)
    assert found.is_found
    assert found.ran is not None
    assert found.failed is not None
    assert found.ran <= truth < found.failed
    assert len(found.tries) <= (6 if abs(start - truth) <= 0.06 * truth else 17)


def test_nothing_runs() -> None:
    found = search(40, lambda _: False)
    assert (found.ran, found.failed) == (None, 1)
    assert search(40, lambda _: None) == Boundary(())


@pytest.mark.torch
def test_the_script_runs_dry(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    command = ["bash", str(ROOT / "reports" / "measure.sh"), "--dry-run", "--only", "llama-3.2-1b"]
    environment = os.environ | {"PYTHON": sys.executable, "OUT": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True)
    assert done.stdout.startswith("llama-3.2-1b ctx 24 x 1: ran")
    assert "tokens/s" in done.stdout
    (file,) = tmp_path.glob("cpu_llama-3.2-1b_ctx24_b1_*.json")
    assert (
        json.loads(file.read_text())["prefill"]["kv_bytes"] == 2 * 2 * 8 * 64 * 2 * 20
    )  # K and V · layers · heads · head_dim · bytes · tokens
