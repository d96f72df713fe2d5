"""What llama.cpp says no to before it allocates anything."""

import pytest

import kvplan
from kvplan.core.device import Node
from kvplan.engines.llamacpp.refusals import refusals
from tests.engines.llamacpp.resolving import LATENT, LLAMA, NOWHERE, cards, settled

GEMMA = kvplan.load_model("gemma-3-1b")
MAMBA = kvplan.load_model("granite-4.0-h-tiny")
NONE = Node("none", "flag", ())


def texts(line: str, model: object = LLAMA, node: Node = NOWHERE) -> list[tuple[str, str]]:
    spec = kvplan.load_model(model) if isinstance(model, str) else model
    assert isinstance(spec, type(LLAMA))
    return [(refusal.at, refusal.text) for refusal in refusals(spec, settled(f"llama-server -m x {line}", model=spec, node=node), node)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("-ctv q8_0 -fa off", "llama_init_from_model: quantized V cache requires flash_attn to be enabled"),  # measured on b11434
        ("-np 257", "llama_init_from_model: failed to initialize the context: n_seq_max must be <= 256"),
    ],
)
def test_settings_that_no_model_takes(line: str, text: str) -> None:
    for model in (LLAMA, MAMBA):
        assert texts(line, model) == [("config", text)]


@pytest.mark.parametrize(
    "line", ["-ctk q8_0 -ctv q8_0", "-ctk q8_0 -fa off", "-ctv q8_0 -fa auto", "-ctk bf16 -ctv f32 -fa off", "-np 256"]
)
def test_settings_that_it_takes(line: str) -> None:
    assert texts(line) == []
    assert texts(line, GEMMA) == []


def test_a_latent_cache_has_one_type() -> None:
    """Source: measured on b11434, deepseek2 with attention.key_length_mla."""
    text = "llama_init_from_model: model does not support different K (q8_0) and V (f16) cache types"
    assert texts("-ctk q8_0", LATENT) == [("config", text)]
    assert texts("-ctk q8_0 -ctv q8_0", LATENT) == []


def test_blocks_must_divide_heads() -> None:
    """Source: public report on stories15M, whose heads are 48 wide."""
    runs = tuple(
        run._replace(
            layer=run.layer._replace(mixers=tuple(m._replace(head_dim=48, v_head_dim=48) for m in run.layer.mixers if m.kind == "full"))
        )
        for run in LLAMA.runs
    )
    narrow = LLAMA._replace(runs=runs)
    text = "llama_init_from_model: K cache type q8_0 with block size 32 does not divide n_embd_head_k=48"
    assert texts("-ctk q8_0 -ctv q8_0", narrow) == [("config", text)]
    assert texts("-ctv q4_0", narrow)[0][1].startswith("llama_init_from_model: V cache type q4_0")
    assert texts("-ctk q8_0 -fa off", narrow) == []


def test_grok_runs_without_flash_attention() -> None:
    grok = LLAMA._replace(model_type="grok")
    assert texts("-ctv q8_0 -fa on", grok)[0][1].endswith("requires flash_attn to be enabled")


@pytest.mark.parametrize(
    ("line", "node", "expected"),
    [
        ("-dev CUDA2", cards("rtx-3090", 2), [("parse", 'error while handling argument "--device": invalid device: CUDA2')]),
        ("-dev CUDA0", NONE, [("parse", 'error while handling argument "--device": invalid device: CUDA0')]),
        ("-dev CUDA2", NOWHERE, []),
        ("-dev none", NONE, []),
        ("-dev CUDA1,CUDA0", cards("rtx-3090", 2), []),
        (
            "-sm none -mg 2",
            cards("rtx-3090", 2),
            [("load", "llama_model_load_from_file_impl: invalid value for main_gpu: 2 (available devices: 2)")],
        ),
        ("-sm none -mg 1", cards("rtx-3090", 2), []),
        (
            "-sm none -mg 1 -dev CUDA0",
            cards("rtx-3090", 2),
            [("load", "llama_model_load_from_file_impl: invalid value for main_gpu: 1 (available devices: 1)")],
        ),
    ],
)
def test_devices_that_are_not_there(line: str, node: Node, expected: list[tuple[str, str]]) -> None:
    assert texts(line, node=node) == expected
