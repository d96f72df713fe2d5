"""A calibration from a run on a GPU that the test makes up, saved, and taken by an estimate."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvplan import estimate
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.ledger import Interval, total
from kvplan.core.units import GIB, MIB
from kvplan.render.envelope import document
from kvplan.verifier import Verification, verification
from kvplan.verifier.calibrating import calibration
from kvplan.verifier.record import Built, Device, Job, Phase, Record, Snapshot
from tests.running import Run, refused

WEIGHTS, BUFFERS, WORKSPACE, CONTEXT = 13476831232, 256, 33554432, 455 * MIB


def moment(live: int, *, context: int = CONTEXT, reserved: int | None = None) -> Snapshot:
    reserved = live + GIB if reserved is None else reserved
    return Snapshot(live, live, reserved, reserved, reserved + context, None, None)


def measured(*, outcome: str = "ran") -> Verification:
    """Llama-2-7B at 4096 × 8 on an H200, as it may have run."""
    found = estimate("llama-2-7b", ctx=4096, batch=8, gpu="h200")
    held = WEIGHTS + BUFFERS + WORKSPACE
    record = Record(
        job=Job("llama-2-7b", {}, "float16", 4096, 8, 4095),
        outcome=outcome,
        error=None,
        taken_at="2026-11-29T15:00:01Z",
        versions={"torch": "2.11.0+cu128", "transformers": "5.17.0", "cuda": "12.8", "driver": "580.126.09"},
        device=Device("cuda", "NVIDIA H200", "9.0", 140 * GIB, 141 * GIB),
        before=Snapshot(),
        model=Built("LlamaForCausalLM", "sdpa", 1, WEIGHTS, BUFFERS, 0.1),
        loaded=moment(held, context=CONTEXT - 30 * MIB),
        prefill=Phase(1, 0.5, 0, 0, moment(held + 20 * GIB)),
        decode=Phase(1, 0.5, 0, 0, moment(held + 19 * GIB, reserved=held + 22 * GIB)),
    )
    return Verification("cuda", found, record, (), ())


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "h200.json"
    path.write_text(document(calibration(measured())))
    return str(path)


def edited(saved: str, **changes: object) -> str:
    data = json.loads(Path(saved).read_text())
    data["calibration"] |= changes
    Path(saved).write_text(json.dumps(data))
    return saved


def overheads(file: str | None, **options: Any) -> Iterator[tuple[str, Interval, str]]:
    found = estimate("llama-2-7b", **{"batch": 8, "gpu": "h200", **options, "calibration": file})
    assert found.needed == total(entry.size for entry in found.entries)
    yield from (
        (entry.term, entry.size, entry.basis) for entry in found.entries if entry.term in ("runtime_context", "workspace", "allocator")
    )


def test_overheads_are_those_that_were_measured(saved: str) -> None:
    assert list(overheads(saved, ctx=4096)) == [
        ("workspace", Interval(WORKSPACE, WORKSPACE, WORKSPACE), "measured"),
        ("runtime_context", Interval(CONTEXT - 30 * MIB, CONTEXT, CONTEXT), "measured"),
        ("allocator", Interval(0, 2 * GIB, 2 * GIB), "measured"),
    ]
    assert all(basis != "measured" for *_, basis in overheads(None, ctx=4096))


def test_what_the_allocator_holds_back_grows_with_cache_and_activations(saved: str) -> None:
    *_, (_, size, _) = overheads(saved, ctx=2048)
    assert size.best == pytest.approx(GIB, rel=0.01)
    assert size.low == 0


def test_the_answer_says_where_they_are_from(kvplan: Run, saved: str) -> None:
    words = ("estimate", "llama-2-7b", "--gpu", "h200", "--ctx", "4096", "--calibration", saved)
    ran = kvplan(*words)
    assert "measured" in ran.out
    assert f"note[KV400]: overheads as {saved} has them, measured on NVIDIA H200 on 2026-11-29 (torch 2.11.0+cu128, driver 580" in ran.err
    answer = json.loads(kvplan(*words, "--json").out)
    assert [finding["rule"] for finding in answer["findings"]] == ["KV400"]
    (context,) = [entry for entry in answer["entries"] if entry["term"] == "runtime_context"]
    assert (context["basis"], context["formula"]) == ("measured", "477,102,080 B on NVIDIA H200")
    assert saved in context["source"]
    assert "beside" in kvplan(*words, "--explain").out


def test_a_request_in_a_line_may_name_one(kvplan: Run, saved: str, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"model": "llama-2-7b", "gpu": "h200", "calibration": saved}) + "\n")
    answer = json.loads(kvplan("estimate", "--requests", str(tmp_path / "r.jsonl")).out)
    assert "measured" in {entry["basis"] for entry in answer["entries"]}


def test_other_gpus_that_would_do_are_estimated_as_ever(saved: str) -> None:
    options: dict[str, Any] = {"ctx": 4096, "batch": 64, "gpu": "h200"}
    calibrated = estimate("llama-2-7b", **options, calibration=saved)
    assert calibrated.verdict == "does_not_fit"
    assert calibrated.fits_on == estimate("llama-2-7b", **options).fits_on


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"gpu": "h100-sxm"}, "of h200, not of h100-sxm", id="another GPU"),
        pytest.param({}, "of h200, not of no GPU", id="none"),
        pytest.param({"budget": "24GiB"}, "of h200, not of a budget", id="a budget"),
        pytest.param({"gpu": "h200:2"}, "of one GPU, not of 2", id="two of them"),
        pytest.param({"gpu": "h200", "engine": "vllm"}, "of transformers, not of vllm", id="another engine"),
    ],
)
def test_what_was_measured_elsewhere_is_refused(saved: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RequestError) as caught:
        estimate("llama-2-7b", ctx=4096, **options, calibration=saved)
    assert words in caught.value.message
    assert caught.value.hint


def test_another_torch_is_refused_by_its_first_number(saved: str) -> None:
    assert "KV400" in {finding.rule for finding in estimate("llama-2-7b", gpu="h200", calibration=edited(saved, torch="2.99")).findings}
    with pytest.raises(RequestError, match=r"of torch 3\.0, and torch 2 is modeled"):
        estimate("llama-2-7b", gpu="h200", calibration=edited(saved, torch="3.0"))


@pytest.mark.parametrize(
    "changes",
    [
        {"terms": None},
        {"terms": {}},
        {"transient_bytes": 0},
        {"gpu_id": 7},
        {"terms": {name: {"low_bytes": 2, "best_bytes": 1, "high_bytes": 3} for name in ("runtime_context", "workspace", "allocator")}},
        {"terms": {name: {"low_bytes": 0, "best_bytes": True, "high_bytes": 3} for name in ("runtime_context", "workspace", "allocator")}},
    ],
)
def test_what_is_no_calibration_is_refused(saved: str, changes: dict[str, object]) -> None:
    with pytest.raises(RequestError, match="holds no calibration"):
        estimate("llama-2-7b", gpu="h200", calibration=edited(saved, **changes))


def test_a_file_that_is_not_there(kvplan: Run) -> None:
    assert "nowhere.json" in refused(kvplan, "estimate", "llama-2-7b", "--gpu", "h200", "--calibration", "nowhere.json")


def test_only_a_gpu_has_overheads_to_measure(kvplan: Run) -> None:
    said = refused(kvplan, "verify", "llama-2-7b", "--backend", "cpu", "--save-calibration", "x.json")
    assert "a processor has no context and no allocator to measure" in said
    assert "a trace has no context" in refused(kvplan, "verify", "llama-2-7b", "--save-calibration", "x.json")


def test_a_run_that_tells_too_little_makes_none() -> None:
    with pytest.raises(UnavailableError, match="ran out of memory"):
        calibration(measured(outcome="oom"))
    found = measured()
    blind = found.record._replace(**{name: getattr(found.record, name)._replace(memory=Snapshot()) for name in ("prefill", "decode")})
    with pytest.raises(UnavailableError, match="driver does not tell"):
        calibration(found._replace(record=blind))


def test_the_command_saves_it(kvplan: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "answer", lambda *_, **__: measured())
    file = tmp_path / "new.json"
    ran = kvplan("verify", "llama-2-7b", "--backend", "cuda", "--save-calibration", str(file))
    assert ran.code == 0
    assert next(overheads(str(file), ctx=4096))[2] == "measured"
    file.write_text("mine")
    assert "exists" in refused_after(kvplan("verify", "llama-2-7b", "--backend", "cuda", "--save-calibration", str(file)))


def refused_after(ran: tuple[int, str, str]) -> str:
    """The complaint of a run whose answer was given."""
    code, _, err = ran
    assert code == 2
    return err
