from collections.abc import Callable
from pathlib import Path

import pytest

import kvplan


def test_the_library_answers_as_the_command_line_does() -> None:
    answer = kvplan.estimate("llama-2-7b", ctx=4096, batch=8, budget="48GiB")
    assert answer.kv.ideal_bytes == 17_179_869_184  # 2 · 32 layers · 32 heads · 128 · 2 B · 4096 · 8
    assert answer.verdict == "fits"
    assert answer.needed == answer.places[0].needed
    assert kvplan.load_model("llama-2-7b").n_params == 6_738_415_616


def test_every_public_name_is_there() -> None:
    assert all(hasattr(kvplan, name) for name in kvplan.__all__)
    assert dir(kvplan) == sorted(kvplan.__all__)


def test_verify_takes_what_estimate_takes() -> None:
    with pytest.raises(kvplan.KvplanError, match="not on h100-sxm"):
        kvplan.verify("llama-2-7b", ctx=64, gpu="h100-sxm", backend="cpu")


def test_a_lone_path_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "serve.sh").write_text("vllm serve qwen3-8b --max-model-len 8192\n")
    assert len(kvplan.check(str(tmp_path)).cases) == 1


@pytest.mark.parametrize("ask", [kvplan.estimate, kvplan.sweep, kvplan.recommend, kvplan.compare])
def test_an_unknown_option_is_no_silence(ask: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="batches"):
        ask("llama-2-7b", batches=8)
