# kvplan check --gpu l40s
vllm serve "$MODEL" --max-model-len 8192
