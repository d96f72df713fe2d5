"""Presets of llama-server's router."""

import pytest

from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp.engine import ENGINE
from kvplan.engines.llamacpp.presets import preset_file, with_preset

PRESET = """version = 1

[*]
; for all
n-gpu-layers = all
cache-type-k = q4_0
LLAMA_ARG_CACHE_RAM = 20480
jinja = true

[big]
# a model
model = /models/big.gguf
c = 262144
flash-attn = on
kv-offload = false
swa-full = false
LLAMA_ARG_NO_REPACK = 1
load-on-startup = true
temp = 0.7
made-up = 3

[small]
hf-repo = u/m:Q8_0
ctx-size = 4096
"""


def test_a_section_with_the_defaults_of_all() -> None:
    line = with_preset(("X=1", "llama-server", "--models-preset", "f.ini", "--alias", "big", "-c", "8"), PRESET)
    assert line == (
        *("X=1", "llama-server", "--n-gpu-layers", "all", "--cache-type-k", "q4_0", "--cache-ram", "20480", "--jinja", "--model"),
        *("/models/big.gguf", "-c", "262144", "--flash-attn", "on", "--no-kv-offload", "--no-repack", "--temp", "0.7", "--made-up", "3"),
        *("--alias", "big", "-c", "8"),
    )
    parsed = ENGINE.parse(line, {}, "")
    said = {flag.name: flag.value for flag in parsed.flags}
    assert (parsed.model, said["ctx-size"], said["cache-ram"]) == ("/models/big.gguf", "8", "20480")


def test_the_only_model_need_not_be_named() -> None:
    only = PRESET.partition("[big]")[0] + "[small]" + PRESET.partition("[small]")[2]
    assert ENGINE.with_text(("llama-server", "--models-preset", "f.ini"), only)[-1] == "4096"


@pytest.mark.parametrize(("argv", "name"), [(("llama-server", "--models-preset", "f.ini"), "f.ini"), (("llama-server", "-m", "x"), None)])
def test_the_file(argv: tuple[str, ...], name: str | None) -> None:
    assert preset_file(argv) == ENGINE.text_file(argv) == name


@pytest.mark.parametrize(
    ("alias", "text", "message"),
    [("", PRESET, "2 models"), ("bigg", PRESET, "2 models"), ("", "[*]\nc = 1", "0 models"), ("", "[a]\nwords", "line 2")],
)
def test_what_can_not_be_told(alias: str, text: str, message: str) -> None:
    argv = ("llama-server", "--models-preset", "f.ini", *(("-a", alias) if alias else ()))
    with pytest.raises(RequestError, match=message):
        with_preset(argv, text)
