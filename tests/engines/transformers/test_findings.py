"""What is said of hardware and of attention kernels."""

from collections.abc import Mapping

import pytest

from kvplan.core.device import UNKNOWN_NODE, Node
from kvplan.core.ledger import Finding
from tests.engines.transformers.running import SMALL, deployment, gpu, model, on_several

SHARED: dict[str, object] = {"num_key_value_heads": 4}
EAGER_ONLY: dict[str, object] = {
    "model_type": "gpt_oss",
    "vocab_size": 100,
    "hidden_size": 64,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "num_local_experts": 4,
}
BROADCAST: dict[str, object] = {
    "model_type": "falcon",
    "vocab_size": 100,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "multi_query": True,
    "new_decoder_architecture": False,
    "parallel_attn": True,
    "bias": False,
    "alibi": False,
}


def said(rule: str, config: Mapping[str, object], node: Node = UNKNOWN_NODE, **flags: str) -> list[Finding]:
    return [finding for finding in deployment(model(config), flags, node=node).findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("config", "node", "flags", "why", "hint"),
    [
        pytest.param(EAGER_ONLY, gpu(), {}, "this family attends eagerly only", "shorten the prompt", id="eager only"),
        pytest.param(BROADCAST, gpu(), {}, "broadcasts its KV heads", "shorten the prompt", id="broadcast"),
        pytest.param(SMALL, gpu(), {"attn_implementation": "eager"}, "eager, as asked", "take --attn sdpa:", id="asked for"),
        pytest.param(SMALL, gpu((7, 5)), {}, "4 heads over 2 KV heads of 16 on compute", "take a GPU of", id="T4, heads in groups"),
        pytest.param(SMALL | SHARED, gpu((7, 5)), {}, "bfloat16, 4 heads of 16 on", "take --dtype float16:", id="T4, bfloat16"),
        pytest.param(SMALL, gpu(), {"dtype": "float32"}, "for float32", "take --dtype bfloat16:", id="float32 in groups"),
        pytest.param(
            SMALL, gpu((7, 5)), {"dtype": "float32"}, "for float32", "take --dtype bfloat16 and a GPU of", id="T4, float32 in groups"
        ),
        pytest.param(SMALL, UNKNOWN_NODE, {"dtype": "float32"}, "KV heads of 16, SDPA", "take --dtype bfloat16:", id="no card"),
    ],
)
def test_scores_in_memory_are_said(config: dict[str, object], node: Node, flags: dict[str, str], why: str, hint: str) -> None:
    (found,) = said("KV306", config, node, **flags)
    assert why in found.message
    assert found.hint.startswith(hint)
    assert [fix.flag in found.hint for fix in found.fixes] == [True] * found.hint.count("--")


@pytest.mark.parametrize(
    ("config", "node"),
    [
        pytest.param(SMALL, gpu(), id="flash"),
        pytest.param(SMALL | SHARED | {"torch_dtype": "float16"}, gpu((7, 5)), id="memory-efficient"),
        pytest.param({"model_type": "mamba", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2}, gpu((7, 5)), id="no attention"),
    ],
)
def test_kernels_that_keep_no_scores_are_not(config: dict[str, object], node: Node) -> None:
    assert not said("KV306", config, node)


@pytest.mark.parametrize(
    ("vendor", "kind", "rules"),
    [
        pytest.param("NVIDIA", "datacenter", [], id="NVIDIA"),
        pytest.param("", "", [], id="a size"),
        pytest.param("AMD", "datacenter", ["KV307"], id="AMD"),
        pytest.param("Apple", "desktop", ["KV307"], id="Apple"),
        pytest.param("Intel", "accelerator", ["KV308"], id="Gaudi"),
        pytest.param("Google", "accelerator", ["KV308"], id="TPU"),
    ],
)
def test_hardware_of_other_makers(vendor: str, kind: str, rules: list[str]) -> None:
    (card,) = gpu(None, vendor=vendor).gpus
    found = deployment(model(), node=Node("card", "flag", (card._replace(kind=kind),))).findings
    assert [finding.rule for finding in found if finding.rule in ("KV307", "KV308")] == rules
    assert {finding.level for finding in found if finding.rule in rules} <= {"warning"}


@pytest.mark.parametrize(
    ("flags", "changes", "version", "rules"),
    [
        pytest.param({}, {}, "5.24.0", [], id="nothing to say"),
        pytest.param({}, {}, "5.31.0", ["KV301"], id="newer version"),
        pytest.param({}, {"model_type": "internlm"}, "5.24.0", ["KV302"], id="unchecked form"),
        pytest.param({}, {"torch_dtype": "float8_e5m2"}, "5.24.0", ["KV303"], id="weights on paper"),
        pytest.param({"kv_dtype": "float32"}, {}, "5.24.0", ["KV304"], id="cache on paper"),
    ],
)
def test_findings(flags: dict[str, str], changes: dict[str, object], version: str, rules: list[str]) -> None:
    assert [finding.rule for finding in deployment(model(changed=changes), flags, version=version).findings] == rules


def test_gpus_that_stay_idle_are_told() -> None:
    card = gpu().gpus[0]
    (finding,) = on_several(model(), node=Node("cards", "flag", (card,) * 4), tp_size="2").findings
    assert (finding.rule, finding.level) == ("KV348", "note")
    assert "of 4 GPUs 2 will be used" in finding.message


@pytest.mark.parametrize(
    ("flags", "changes", "version", "rules"),
    [
        pytest.param({}, {}, "5.24.0", [], id="none"),
        pytest.param({"attn_implementation": "sdpa"}, {"model_type": "gemma2", "head_dim": 16}, "5.24.0", ["KV310"], id="softcap"),
        pytest.param({"kv_dtype": "fp8"}, {}, "5.20.0", ["KV311"], id="fp8 before 5.21"),
        pytest.param({"kv_dtype": "fp8"}, {}, "5.21.0", [], id="fp8 since"),
        pytest.param({"kv_dtype": "int4"}, {"model_type": "mistral", "sliding_window": 8}, "5.24.0", ["KV312"], id="windows"),
    ],
)
def test_refusals(flags: dict[str, str], changes: dict[str, object], version: str, rules: list[str]) -> None:
    assert [refusal.rule for refusal in deployment(model(changed=changes), flags, version=version).refusals] == rules


@pytest.mark.parametrize(
    ("node", "changes", "rules"),
    [
        pytest.param(UNKNOWN_NODE, {}, [], id="unknown card"),
        pytest.param(gpu((8, 0)), {}, [], id="A100"),
        pytest.param(gpu((7, 5)), {}, ["KV313"], id="T4"),
        pytest.param(gpu((9, 0)), {"head_dim": 320}, ["KV314"], id="wide heads"),
    ],
)
def test_flash_attention_refuses(node: Node, changes: dict[str, object], rules: list[str]) -> None:
    # flash-attention 2.8 csrc/flash_attn/flash_api.cpp
    deployed = deployment(model(changed=changes), node=node, attn_implementation="flash_attention_2")
    assert [refusal.rule for refusal in deployed.refusals] == rules


def test_what_is_not_counted_is_said() -> None:
    assert [item.id for item in deployment(model()).not_modeled] == ["kernel_scratch", "padding"]
    assert "cuda_graphs" in [item.id for item in deployment(model(), cache_implementation="static").not_modeled]
    quantized = model()._replace(quantization="mxfp4")
    assert "without_kernels" in [item.id for item in deployment(quantized).not_modeled]
    seeing = model()
    seeing = seeing._replace(weights=(*seeing.weights, seeing.weights[0]._replace(name="tower", role="vision")))
    assert "towers" in [item.id for item in deployment(seeing).not_modeled]
