# kvplan check --gpu h100-sxm:8
vllm serve llama-3.1-405b-fp8 -tp 8 --max-model-len 32768
