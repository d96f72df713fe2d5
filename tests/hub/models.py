"""Small models for the Hub."""

import json
from math import prod

from tests import weights
from tests.gguf import writing

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}
LAYER = {
    "model.layers.0.input_layernorm.weight": ("BF16", (64,)),
    "model.layers.0.post_attention_layernorm.weight": ("BF16", (64,)),
    **{f"model.layers.0.self_attn.{name}_proj.weight": ("BF16", (64, 64)) for name in "qkvo"},
    **{f"model.layers.0.mlp.{name}_proj.weight": ("BF16", (128, 64)) for name in ("gate", "up")},
    "model.layers.0.mlp.down_proj.weight": ("BF16", (64, 128)),
}
ENDS = {
    "model.embed_tokens.weight": ("BF16", (100, 64)),
    "model.norm.weight": ("BF16", (64,)),
    "lm_head.weight": ("BF16", (100, 64)),
}
N_BYTES = weights.total({**LAYER, **ENDS})


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def gguf(n_blocks: int = 2, split: tuple[int, int] = (0, 1)) -> bytes:
    """A llama of float32 tensors; of a split one, a part."""
    number, count = split
    shapes = {"attn_norm": (64,), "ffn_norm": (64,), "ffn_gate": (64, 128), "ffn_up": (64, 128), "ffn_down": (128, 64)}
    shapes |= {f"attn_{name}": (64, 64) for name in ("q", "k", "v", "output")}
    named = {f"blk.{i}.{name}.weight": shape for i in range(number, n_blocks, count) for name, shape in shapes.items()}
    ends = {"token_embd.weight": (64, 100), "output_norm.weight": (64,)} if number == 0 else {}
    tensors = [writing.Entry(name, shape, 0, 4 * prod(shape)) for name, shape in {**ends, **named}.items()]
    keys: dict[str, object] = {"context_length": 512, "embedding_length": 64, "block_count": n_blocks, "vocab_size": 100}
    keys |= {"attention.head_count": 4, "feed_forward_length": 128, "attention.layer_norm_rms_epsilon": 1e-5}
    values: dict[str, object] = {"general.architecture": "llama", **{f"llama.{key}": value for key, value in keys.items()}}
    if count > 1:
        n_tensors = 2 + n_blocks * len(shapes)
        values = values if number == 0 else {}
        for key, value in {"no": number, "count": count, "tensors.count": n_tensors}.items():
            values[f"split.{key}"] = writing.Typed("int32" if key == "tensors.count" else "uint16", value)
    head, n_data = writing.header(values, tensors)
    return head + bytes(n_data)
