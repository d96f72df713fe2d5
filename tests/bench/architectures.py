"""Architectures to hold the formulas of Transformers against: published widths, few layers."""

import json
from pathlib import Path

from kvplan.verifier.configs import config_of as whole
from kvplan.verifier.shrink import cut

_TRACED = Path(__file__).parents[1] / "data" / "traces" / "transformers-5.24.0.jsonl"

BUILT_IN: dict[str, int] = {
    "llama-2-7b": 2, "llama-3.1-8b": 2, "llama-3.2-1b": 2, "mistral-7b-v0.1": 2, "mistral-nemo": 2, "qwen2.5-7b": 2, "qwen3-8b": 2,
    "gemma-2b": 2, "gemma-2-9b": 4, "gemma-3-12b": 6, "gemma-3-1b": 6, "phi-4": 2, "phi-4-mini": 2, "falcon-7b": 2, "falcon-40b": 2,
    "pythia-6.9b": 2, "gpt-j-6b": 2, "gpt2": 2, "bloom-176b": 2, "opt-6.7b": 2, "mpt-7b": 2, "command-r": 2, "command-r7b": 4,
    "glm-4-9b": 2, "stablelm-3b": 2, "granite-3.3-8b": 2, "smollm3-3b": 4, "exaone-4.0-32b": 4, "ernie-4.5-0.3b": 2, "seed-oss-36b": 2,
    "ministral-8b": 2, "minicpm3-4b": 2, "bitnet-2b-4t": 2, "lfm2-1.2b": 4, "mixtral-8x7b": 2, "qwen3-30b-a3b": 2, "qwen2-57b-a14b": 2,
    "gpt-oss-20b": 4, "olmoe-1b-7b": 2, "deepseek-v2-lite": 2, "deepseek-v3": 5, "glm-4.5-air": 2, "glm-4.7-flash": 2,
    "ernie-4.5-21b-a3b": 2, "phi-3.5-moe": 2, "llama-4-scout": 4, "minimax-m2": 2, "granite-4.0-h-tiny": 7, "granite-4.0-h-micro": 7,
    "jamba-mini-1.5": 8, "nemotron-h-8b": 10, "qwen3-next-80b-a3b": 4, "qwen3.5-9b": 4, "qwen3.5-35b-a3b": 4, "falcon-mamba-7b": 2,
    "mamba-codestral-7b": 2, "mamba-130m": 2, "gemma-3n-e2b": 6, "gemma-4-26b-a4b": 6, "dbrx": 2, "glm-5": 4,
}  # fmt: skip
"""Built-in models, and how many of their layers show everything that the whole has."""

CLASS_DEFAULTS = (
    "olmo", "olmo2", "olmo3", "cohere2_moe", "glm4", "starcoder2", "nemotron", "phi", "granitemoe", "granitemoeshared", "dots1",
    "hunyuan_v1_moe", "apertus", "arcee", "helium", "persimmon", "gpt_bigcode", "codegen", "afmoe", "mimo_v2_flash", "hy_v3", "laguna",
    "diffllama", "nanochat", "mistral4", "exaone_moe", "gpt_neo", "modernbert-decoder", "bamba", "zamba2",
)  # fmt: skip
"""Model types whose widths are those of their own configuration class."""

ARCHITECTURES = (*BUILT_IN, *CLASS_DEFAULTS)


def config_of(name: str) -> dict[str, object]:
    """The config of one architecture, cut, without a quantization: random weights have none."""
    if name in BUILT_IN:
        config = cut(whole(name), BUILT_IN[name])
        text = config.get("text_config")
        config = text if isinstance(text, dict) and "num_hidden_layers" in text else config
        return {key: value for key, value in config.items() if key != "quantization_config"}
    rows = map(json.loads, _TRACED.read_text(encoding="utf-8").splitlines())
    config = next(row["config"] for row in rows if row["config"]["model_type"] == name)
    assert isinstance(config, dict)
    return config
