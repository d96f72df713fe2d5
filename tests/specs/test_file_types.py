"""Rules of llama.cpp's file types that not every model meets."""

from kvplan import _discover
from kvplan.specs import load_model
from kvplan.specs.build import build
from kvplan.specs.paper import SCHEMES, names, requantized
from kvplan.specs.paper.ggml import NAMES, mixes
from tests.specs.quantized import SMALL
from tests.specs.test_paper import MIXTURE, named


def test_eight_experts_have_rules_of_their_own() -> None:
    spec = requantized(build(MIXTURE, where="c"), "q4_k_m")
    kept = {name: named(spec, f"self_attn.{name}.weight").dtype for name in ("q_proj", "k_proj", "v_proj", "o_proj")}
    assert kept == {"q_proj": "q4_k", "k_proj": "q8_0", "v_proj": "q8_0", "o_proj": "q5_k"}
    assert named(spec, "block_sparse_moe.gate.weight").dtype == "float32"


def test_falcon_has_rules_of_its_own() -> None:
    config = SMALL | {"model_type": "falcon", "architectures": ["FalconForCausalLM"], "num_hidden_layers": 16}
    spec = requantized(build(config | {"tie_word_embeddings": False}, where="c"), "q4_k_m")
    downs = [next(group.dtype for group in layer.weights if group.name == "mlp.down_proj.weight") for layer in spec.layers()]
    assert (downs[:4], downs.count("q5_k"), downs[-2:]) == (["q6_k", "q5_k", "q4_k", "q4_k"], 7, ["q5_k", "q5_k"])
    assert named(spec, "lm_head.weight").dtype == "q8_0"
    assert named(requantized(build(config, where="c"), "q2_k"), "self_attn.o_proj.weight").dtype == "q2_k"


def test_towers_are_in_a_file_of_their_own() -> None:
    spec = requantized(load_model("gemma-3-4b"), "q4_k_m")
    assert {group.dtype for group in spec.groups() if group.role in ("vision", "projector")} == {"float16"}
    assert named(spec, "embed_tokens.weight").dtype == "q6_k"  # tied


def test_the_list_of_file_types_is_whole() -> None:
    short = {"q3_k", "q4_k", "q5_k"}
    assert set(NAMES) == set(mixes.MIXES) | short
    assert {module.scheme(name).name for name, module in _discover.claimants(SCHEMES, "NAMES").items()} == set(names())
