"""Decoders whose layers all attend to every earlier token, with any number of KV heads, dense or with experts.

Source: llama.cpp b11434 src/models/, those whose load_arch_hparams sets no window; src/models/deci.cpp for layers without
attention. MiniCPM 3 and PLM have latent attention, which llama.cpp expands before it caches: src/models/minicpm3.cpp, plm.cpp.
"""

from kvplan.specs.gguf.attention import attending_plan
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Plan

# fmt: off
GGUF_ARCHS = (
    "llama", "llama-embed", "mistral3", "deci", "falcon", "grok", "gpt2", "gptj", "gptneox", "mpt", "baichuan", "starcoder",
    "starcoder2", "refact", "bloom", "stablelm", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3vl",
    "qwen3vlmoe", "phi2", "phimoe", "plamo", "codeshell", "orion", "internlm2", "minicpm", "minicpm3", "plm", "gemma", "xverse",
    "command-r", "dbrx", "olmo", "olmoe", "openelm", "arctic", "deepseek", "deepseek2-ocr", "chatglm", "glm4", "glm4moe",
    "bitnet", "jais", "jais2", "nemotron", "exaone", "granite", "granitemoe", "chameleon", "bailingmoe", "bailingmoe2", "dots1",
    "arcee", "ernie4_5", "ernie4_5-moe", "hunyuan-moe", "hunyuan-dense", "hunyuan_vl", "hy_v3", "smollm3", "seed_oss",
    "grovemoe", "apertus", "minimax-m2", "cogvlm", "pangu-embedded", "paddleocr", "maincoder", "talkie",
)
# fmt: on


def plan(keys: Keys) -> Plan:
    """Layers of ``head_count_kv`` heads; where an array has 0 the layer keeps nothing."""
    return attending_plan(keys)
