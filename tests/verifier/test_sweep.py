"""Measured sweeps: one thing at a time, kept as they end, gone on with."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.render.sweep_schema import SweepAnswer
from kvplan.verifier.journal import Journal
from kvplan.verifier.record import Device, Job, Phase, Record, Snapshot, to_json
from kvplan.verifier.timings import Pass, summary
from tests.running import Run, refused
from tests.verifier import pretended
from tests.verifier.models import LLAMA, write
from tests.verifier.pretended import pretend_torch


class Child:
    """Stands for the process that runs torch: half a second a prefill, longer steps late, no memory for batches of 8."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.interrupts_at: int | None = None

    def __call__(self, job: Job) -> str:
        if len(self.jobs) == self.interrupts_at:
            raise KeyboardInterrupt
        self.jobs.append(job)
        return json.dumps(to_json(_record(job)))


def _record(job: Job) -> Record:
    versions: dict[str, str | None] = {"torch": "2.13.0", "transformers": "5.24.0"}
    begun = Record(job, "oom", "no memory left", "2026-11-29", versions, Device("cpu", "x86_64", None, None, None), Snapshot())
    if job.batch == 8:
        return begun
    n_steps = job.ctx_tokens - job.prompt_tokens
    phase = Phase(1, 0.5, 64, 0, Snapshot(peak_allocated_bytes=3 * 2**20 * job.batch))
    taken = summary([Pass(0.5, tuple(0.01 * (1 + i) for i in range(n_steps)))] * 2, batch=job.batch, n_warmup=1, build_s=1.0)
    return begun._replace(outcome="ran", error=None, prefill=phase, timings=taken)


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Child:
    found = Child()
    pretend_torch(monkeypatch)
    pretended.child(monkeypatch, found)
    return found


@pytest.fixture
def model(tmp_path: Path) -> str:
    return write(tmp_path, LLAMA)


def test_one_thing_is_varied_at_a_time_and_running_out_of_memory_is_a_result(kvplan: Run, child: Child, model: str) -> None:
    asked = f"sweep {model} --measure --backend cpu --ctx 64,128 --batch 1,8 --kv-dtype auto,fp8 --prompt 32"
    code, out, err = kvplan(*asked.split())
    assert code == 0
    assert [(job.ctx_tokens, job.batch) for job in child.jobs] == [(64, 1), (128, 1), (64, 8)]
    lines = out.splitlines()
    assert lines[0] == f"{Path(model).name} · cpu x86_64 · torch 2.13.0 · transformers 5.24.0 · prompt 32"
    assert lines[2].split()[:3] == ["kv-dtype", "ctx", "batch"]
    assert lines[2].endswith("peak MiB  estimated  outcome")
    assert [line.split()[:7] for line in (lines[3], lines[5])] == [
        ["auto", "64", "1", "500.0", "160.0", "310.0", "15.25"],
        ["auto", "128", "1", "500.0", "480.0", "920.0", "18.30"],
    ]
    assert lines[4].split() == ["fp8", "64", "1", "failed,", "unsupported"]
    assert lines[6].split() == ["auto", "64", "8", "0.65", "oom"]
    assert "oom: no memory left" in lines
    assert err == "4 points, 0 of them measured before\n"
    kvplan(*asked.split(), "--grid", "-q")
    assert len(child.jobs) == 3 + 4


def test_the_json_is_that_of_an_estimated_sweep_with_what_was_measured(kvplan: Run, child: Child, model: str) -> None:
    out = kvplan("sweep", model, "--measure", "--backend", "cpu", "--ctx", "64", "--batch", "1,2,8", "--prompt", "60", "--json", "-q").out
    answer = SweepAnswer.model_validate_json(out)
    one, two, much = answer.points
    assert one.measured is not None
    assert one.needed_bytes
    assert one.measured.tpot_by_decile_s == pytest.approx([0.01, 0.02, 0.03, 0.04])
    assert two.measured is not None
    assert two.measured.peak_bytes == 6 * 2**20
    assert much.measured is not None
    assert (much.measured.outcome, much.error) == ("oom", None)
    out = kvplan("sweep", model, "--measure", "--backend", "cpu", "--ctx", "64", "--batch", "1,8", "--prompt", "60", "--csv", "-q").out
    head, first, second = (line.split(",") for line in out.splitlines())
    assert dict(zip(head, first, strict=True))["tpot_s_p95"] == "0.04"
    assert dict(zip(head, second, strict=True))["outcome"] == "oom"


def test_a_sweep_goes_on_where_it_was_interrupted(kvplan: Run, child: Child, model: str, tmp_path: Path) -> None:
    journal = tmp_path / "results.jsonl"
    asked = ("sweep", model, "--measure", "--backend", "cpu", "--ctx", "64,96", "--batch", "1,2", "--prompt", "32", "-o", str(journal))
    child.interrupts_at = 2
    code, out, _ = kvplan(*asked)
    assert code == 130
    assert len(journal.read_text().splitlines()) == 2
    assert len(out.splitlines()) == 5
    child.interrupts_at = None
    code, out, err = kvplan(*asked)
    assert (code, err) == (0, "3 points, 2 of them measured before\n")
    assert len(child.jobs) == 3
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20])  # torn: its point is measured again
    again = kvplan(*asked)
    assert (again.out, again.err) == (out, "3 points, 2 of them measured before\n")
    assert len(child.jobs) == 4
    kvplan(*asked, "--repeats", "5")
    assert len(child.jobs) == 7


def test_what_failed_is_tried_again(kvplan: Run, child: Child, model: str, tmp_path: Path) -> None:
    journal = tmp_path / "results.jsonl"
    asked = ("sweep", model, "--measure", "--backend", "cpu", "--kv-dtype", "auto,fp8", "--ctx", "64", "-o", str(journal))
    for known in (0, 1):
        assert kvplan(*asked).err == f"2 points, {known} of them measured before\n"
    assert len(child.jobs) == 1


@pytest.mark.parametrize("text", ["{}", "{}\n", '{"schema_version": 1, "kvplan": "0.1.0"}\n', "notes", '[1]\n{"sch'])
def test_no_other_file_is_written_into(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(RequestError, match="no line of measured results"):
        Journal(path)
    assert path.read_text() == text
    with pytest.raises(RequestError, match="nosuch"):
        Journal(tmp_path / "nosuch" / "file")


@pytest.mark.parametrize(
    "torn", ["", "{", '{"schema_version": 1, "kvplan": "0.1', '{"schema_version": 1, "kvplan": "0.1.0", "key": {}, "res']
)
def test_a_first_line_that_was_cut_short_is_begun_anew(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "file"
    path.write_text(torn)
    journal = Journal(path)
    journal.keep({"a": 1}, {"b": 2})
    journal.close()
    with closing(Journal(path)) as again:
        assert again.known({"a": 1}) == {"b": 2}
    assert len(path.read_text().splitlines()) == 1


def test_what_is_not_measured(kvplan: Run, child: Child, model: str) -> None:
    assert "bears on runs alone" in refused(kvplan, "sweep", model, "--repeats", "5")
    assert "in two ways" in refused(kvplan, "sweep", model, "--grid", "--one-at-a-time")
    assert "not vllm" in refused(kvplan, "sweep", model, "--measure", "--engine", "vllm", "-q")
    assert not child.jobs
