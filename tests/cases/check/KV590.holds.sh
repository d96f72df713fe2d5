# kvplan check --gpu l40s
MODEL=llama-3.1-8b
vllm serve "$MODEL" --max-model-len "${LEN:-8192}"
