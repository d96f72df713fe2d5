"""Small models to run, or to be refused."""

import json
from pathlib import Path

BASE: dict[str, object] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "vocab_size": 100,
}
LLAMA: dict[str, object] = BASE | {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 3,
    "dtype": "bfloat16",
}
GEMMA: dict[str, object] = BASE | {
    "model_type": "gemma3_text", "architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 6, "sliding_window": 8, "dtype": "bfloat16",
}  # fmt: skip
MAMBA: dict[str, object] = {
    "model_type": "mamba2", "architectures": ["Mamba2ForCausalLM"], "num_hidden_layers": 2, "hidden_size": 64, "num_heads": 4,
    "head_dim": 32, "n_groups": 1, "state_size": 16, "vocab_size": 100, "dtype": "float32",
}  # fmt: skip


def write(folder: Path, config: dict[str, object]) -> str:
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)
