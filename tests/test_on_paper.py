"""``MODEL:SCHEME`` names a checkpoint on paper, so that a command alone says what it would serve."""

import json

import pytest

from tests.running import Run, refused


@pytest.mark.parametrize(
    ("dtype", "command"),
    [
        pytest.param("awq", ("vllm", "serve", "MODEL", "--max-model-len", "4096"), id="vllm"),
        pytest.param("q4_k_m", ("llama-server", "-m", "MODEL", "-c", "4096"), id="llama.cpp"),
    ],
)
def test_a_name_with_a_scheme_is_as_good_as_dtype(kvplan: Run, dtype: str, command: tuple[str, ...]) -> None:
    def answer(model: str, *options: str) -> dict[str, object]:
        words = (model if word == "MODEL" else word for word in command)
        return dict(json.loads(kvplan("estimate", "--gpu", "rtx-4090", "--json", *options, "--", *words).out))

    named, asked = answer(f"qwen3-8b:{dtype}"), answer("qwen3-8b", "--dtype", dtype)
    assert named["needed_bytes"] == asked["needed_bytes"]
    assert named["model"] == asked["model"]


def test_the_engine_is_the_one_that_runs_it(kvplan: Run) -> None:
    said = json.loads(kvplan("estimate", "qwen3-8b:q4_k_m", "--json").out)["engine"]
    assert said["name"] == "llama.cpp"
    assert said["command"][:3] == ["llama-server", "-m", "qwen3-8b:q4_k_m"]


def test_said_twice(kvplan: Run) -> None:
    assert "says 'q4_k_m' already" in refused(kvplan, "estimate", "qwen3-8b:q4_k_m", "--dtype", "q8_0", "--engine", "llama.cpp")


def test_other_words_after_a_colon_are_part_of_a_name(kvplan: Run) -> None:
    assert "unknown model 'qwen3-8b:large'" in refused(kvplan, "estimate", "qwen3-8b:large")
