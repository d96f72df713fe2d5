# kvplan check --gpu h100-sxm:8
vllm serve llama-3.1-8b --max-model-len 8192 -tp 4
