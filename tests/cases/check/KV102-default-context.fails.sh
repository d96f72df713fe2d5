# kvplan check --gpu rtx-4090
vllm serve llama-3.1-8b
