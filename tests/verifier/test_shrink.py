"""Fewer layers of the same model."""

from pathlib import Path

import pytest

from kvplan.core.errors import RequestError
from kvplan.specs import builtin, load_model
from kvplan.verifier import verify
from kvplan.verifier.configs import config_of
from kvplan.verifier.shrink import cut, tiny
from tests.verifier.models import write
from tests.verifier.pretended import child, pretend_torch


def test_cutting_layers() -> None:
    config: dict[str, object] = {"num_hidden_layers": 4, "layer_types": ["a", "b", "c", "d"], "eos_token_id": [1, 2, 3], "hidden_size": 64}
    assert cut(config, 2) == {**config, "num_hidden_layers": 2, "layer_types": ["a", "b"]}
    assert cut(config, 4) is config
    assert cut({"n_layer": 3}, 1) == {"n_layer": 1}
    assert cut({"hidden_size": 1}, 1) == {"hidden_size": 1}
    assert cut({"text_config": config, "vision_config": {"num_hidden_layers": 9}}, 1)["vision_config"] == {"num_hidden_layers": 9}


@pytest.mark.parametrize(
    ("said", "left"),
    [
        pytest.param({"blocks": {"0": "a", "1": "b", "2": "c", "10": "d"}}, {"blocks": {"0": "a", "1": "b"}}, id="a mapping by layer"),
        pytest.param({"sparse": {"frequencies": [1, 2, 3, 4]}}, {"sparse": {"frequencies": [1, 2]}}, id="a list in a mapping"),
        pytest.param({"linear": {"kda_layers": [1, 3]}}, {"linear": {"kda_layers": [1]}}, id="numbers of layers"),
        pytest.param({"hybrid_override_pattern": "MEM*"}, {"hybrid_override_pattern": "ME"}, id="a letter for each"),
        pytest.param({"hidden_act": "silu"}, {"hidden_act": "silu"}, id="another word of as many letters"),
        pytest.param({"num_kv_shared_layers": 1}, {"num_kv_shared_layers": 0}, id="the last reuse what others keep"),
        pytest.param({"vision": {"model_type": "vit", "sizes": [1, 2, 3, 4]}}, None, id="another model"),
    ],
)
def test_what_is_said_of_each_layer_is_cut_along(said: dict[str, object], left: dict[str, object] | None) -> None:
    assert cut({"num_hidden_layers": 4} | said, 2) == {"num_hidden_layers": 2} | (said if left is None else left)


def test_layers_that_reuse_keys_are_the_last() -> None:
    assert cut({"num_hidden_layers": 10, "num_kv_shared_layers": 4}, 8) == {"num_hidden_layers": 8, "num_kv_shared_layers": 2}


@pytest.mark.parametrize("model_id", ["nemotron-h-8b", "nemotron-3-ultra-550b-a55b", "kimi-linear-48b-a3b", "kimi-k3", "gemma-3n-e2b"])
def test_built_in_models_are_cut(model_id: str, tmp_path: Path) -> None:
    assert model_id in builtin.ids()
    assert load_model(write(tmp_path, cut(config_of(model_id), 3))).n_layers == 3


def test_a_model_that_can_not_be_cut_is_not_run_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_torch(monkeypatch)
    child(monkeypatch, lambda _: "")
    with pytest.raises(RequestError, match="--layers 2: the config does not say how many layers there are"):
        verify("llava-1.5-7b", n_layers=2, backend="trace")


def test_tiny() -> None:
    config: dict[str, object] = {
        "num_hidden_layers": 4,
        "vocab_size": 32000,
        "num_experts": 128,
        "num_local_experts": 4,
        "pad_token_id": 31999,
    }
    small = {"num_hidden_layers": 2, "vocab_size": 1024, "num_experts": 8, "num_local_experts": 4, "pad_token_id": 0}
    assert tiny(config) == small
    assert tiny({"text_config": config}) == {"text_config": small}
