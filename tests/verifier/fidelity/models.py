"""A small model of random weights with a tokenizer, as Transformers saves them."""

from pathlib import Path

import pytest

CONFIG: dict[str, object] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 2,
    "vocab_size": 256,
    "initializer_range": 0.2,
    "dtype": "float32",
    "eos_token_id": None,
    "bos_token_id": None,
    "max_position_embeddings": 4096,
}


def checkpoint(folder: Path, **changes: object) -> str:
    """The folder of a checkpoint whose tokens are bytes; the test is skipped where torch is missing."""
    torch = pytest.importorskip("torch", exc_type=ImportError)
    transformers = pytest.importorskip("transformers", exc_type=ImportError)
    tokenizers = pytest.importorskip("tokenizers", exc_type=ImportError)
    torch.manual_seed(0)
    config = transformers.CONFIG_MAPPING[str(changes.get("model_type", "llama"))].from_dict(CONFIG | changes)
    transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).save_pretrained(folder)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({sign: i for i, sign in enumerate(alphabet)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(folder)
    return str(folder)
