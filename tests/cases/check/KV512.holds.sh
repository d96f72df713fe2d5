# kvplan check --gpu l40s
vllm serve llama-3.1-8b --max-model-len 8192 --enable-prefix-caching
