# kvplan check --gpu l40s
vllm serve meta-llama/Llama-3.1-8B --max-model-len 8192
