import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvplan.specs.build import build
from kvplan.verifier import jobs, measure

ROOT = Path(__file__).parent.parent.parent
JOBS = ROOT / "reports" / "jobs.jsonl"


def test_the_jobs_are_those_of_the_built_in_models() -> None:
    assert JOBS.read_text(encoding="utf-8") == jobs.text(), "python -m kvplan.verifier.jobs > reports/jobs.jsonl"
    assert measure.load(JOBS) == jobs.jobs()


def test_every_job_stays_within_its_model_and_an_80_gb_gpu() -> None:
    for job in jobs.jobs():
        model = build(job.config, where=job.id)
        assert 0 < job.prompt_tokens < job.ctx_tokens <= (model.max_ctx_tokens or job.ctx_tokens)
        assert model.weight_bytes < 65 * 2**30


def test_measuring_needs_the_standard_library_alone() -> None:
    """The parent's modules, imported by an interpreter without site-packages."""
    code = "import kvplan.verifier.measure, sys; print([m for m in sys.modules if m in ('click', 'pydantic', 'yaml', 'torch', 'rich')])"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_job_that_dies_is_told_and_the_others_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = json.dumps(jobs.jobs()[0]._asdict())
    (tmp_path / "jobs.jsonl").write_text(f"{line}\n\n{line}\n")
    assert measure.main([str(tmp_path / "jobs.jsonl"), "--out", str(tmp_path / "out"), "--timeout", "0.01"]) == 1
    assert capsys.readouterr().out.count("llama-2-7b ctx 512 x 1: failed: no answer within 0.01 s") == 2
    assert not (tmp_path / "out").exists()


@pytest.mark.torch
def test_the_script_runs_dry(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    command = ["bash", str(ROOT / "reports" / "measure.sh"), "--dry-run", "--only", "llama-3.2-1b"]
    environment = os.environ | {"PYTHON": sys.executable, "OUT": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, check=True)
    assert done.stdout.startswith("llama-3.2-1b ctx 24 x 1: ran")
    (file,) = tmp_path.glob("cpu_llama-3.2-1b_ctx24_b1_*.json")
    assert (
        json.loads(file.read_text())["prefill"]["kv_bytes"] == 2 * 2 * 8 * 64 * 2 * 20
    )  # K and V · layers · heads · head_dim · bytes · tokens
