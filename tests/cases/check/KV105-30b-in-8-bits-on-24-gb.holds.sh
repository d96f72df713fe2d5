# kvplan check --gpu rtx-4090
vllm serve Qwen/Qwen3-30B-A3B --quantization fp8 --max-model-len 8192 -tp 2
