# kvplan check --gpu l40s
# kvplan: ignore[KV502] we queue in front
vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 256
