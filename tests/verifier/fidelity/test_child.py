"""A small model run with caches of every kind."""

from pathlib import Path

import pytest

from kvplan.core.errors import UnavailableError
from kvplan.verifier.fidelity import process
from kvplan.verifier.fidelity.asked import Job, Played
from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.variant import variants
from tests.verifier.fidelity.models import checkpoint

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # of packages, as they load
SAMPLES = (
    Sample("q", "yours", "A prompt of more than thirty-two tokens, since each is a byte", "x"),
    Sample("t", "text", "Some text. " * 12),
)


def play(folder: str, names: str, n_new: int = 8) -> dict[str, Played]:
    job = Job(folder, None, None, "float32", "cpu", n_new, variants(names), SAMPLES)
    return dict(process.played(job, lambda place: None, lambda name, step: None))


def kl(found: Played) -> list[float]:
    return [sum(one.kl for one in row.buckets.values()) / sum(one.n for one in row.buckets.values()) for row in found.rows]


def test_every_cache_of_ours(tmp_path: Path) -> None:
    names = "fp16,int8,int4,int4:k=channel,int4:residual=40,int4:residual=4000,int4:rope=before,int4:rope=high,fp16/int4,q8_0,q4_0,int2"
    folder = checkpoint(tmp_path)
    found = play(folder, names)
    of = dict(zip(["reference", *names.split(",")], kl(found["t"]), strict=True))
    assert of["reference"] == of["int4:residual=4000"] == 0
    assert of["fp16"] < 1e-4 < of["int8"] * 100
    assert of["int8"] < of["int4"] < of["int2"]
    assert of["int4:residual=40"] < of["int4"]
    assert of["q8_0"] < of["q4_0"]
    assert of["int4:rope=high"] == pytest.approx(of["fp16/int4"], rel=0.05), "all of these keys is turned"
    assert 0 < of["int4:rope=before"] != of["int4"]
    reference, half = found["q"].rows[:2]
    assert reference.output
    assert half.output == reference.output
    assert len(reference.output.tokens) == 8
    assert sum(one.n for one in found["t"].rows[0].buckets.values()) == len(SAMPLES[1].prompt) - 1
    assert play(folder, names) == found, "two runs are the same to the last digit"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        pytest.param(
            {"model_type": "gemma3_text", "sliding_window": 40, "architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 6},
            "windows",
            id="windows",
        ),
        pytest.param({"model_type": "phi", "architectures": ["PhiForCausalLM"], "partial_rotary_factor": 0.5}, "part", id="a rotary part"),
    ],
)
def test_other_attention(tmp_path: Path, changes: dict[str, object], name: str) -> None:
    found = play(checkpoint(tmp_path, **changes), "fp16,int8,int8:k=channel,int4,int4:rope=high,int8:rope=before")
    seen = kl(found["t"])
    assert seen[0] == 0
    assert max(seen[1], seen[2], seen[3], seen[6]) < seen[4]
    assert seen[5] < seen[4], name


def test_a_cache_of_transformers_that_is_not_installed_is_one_row(tmp_path: Path) -> None:
    found = play(checkpoint(tmp_path), "int8,hqq-int4,transformers-fp8")
    reference, ours, hqq, fp8 = found["t"].rows
    assert reference.error is ours.error is None
    assert hqq.error is None or "hqq" in hqq.error.lower()
    assert fp8.error is None or "fp8" in fp8.error.lower()


def test_a_run_that_fails_says_why(tmp_path: Path) -> None:
    pytest.importorskip("torch", exc_type=ImportError)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(UnavailableError, match="the run failed"):
        play(str(tmp_path), "int8")
