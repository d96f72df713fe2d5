# kvplan check --gpu h100-sxm
vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --max-model-len 131072
