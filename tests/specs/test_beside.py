"""Files beside a config.json that bear on memory."""

import json
from pathlib import Path

import pytest

from kvplan import KvplanError, load_model

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}
FP8 = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def test_quantization_in_a_file_of_its_own(folder: Path) -> None:
    plain = load_model(str(folder))
    (folder / "hf_quant_config.json").write_text(json.dumps(FP8))
    quantized = load_model(str(folder))
    assert quantized.quantization == "modelopt"
    assert quantized.n_params == plain.n_params
    assert quantized.weight_bytes < plain.weight_bytes


def test_the_config_goes_before_it(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text(json.dumps(FP8))
    own = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps({**CONFIG, "quantization_config": own}))
    assert load_model(str(folder)).quantization == "fp8"


def test_it_belongs_to_config_json_alone(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text(json.dumps(FP8))
    (folder / "other.json").write_text(json.dumps(CONFIG))
    assert load_model(str(folder / "other.json")).quantization is None


def test_one_that_is_none(folder: Path) -> None:
    (folder / "hf_quant_config.json").write_text('{"quantization": 3}')
    with pytest.raises(KvplanError, match=r"hf_quant_config\.json: quantization: expected a mapping, found 3"):
        load_model(str(folder))


def test_a_folder_with_an_index_and_no_weights_is_as_good_as_its_config(folder: Path) -> None:
    plain = load_model(str(folder))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model-00001-of-00001.safetensors"}}))
    assert load_model(str(folder)) == plain
