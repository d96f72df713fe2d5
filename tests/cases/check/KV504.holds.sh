# kvplan check --gpu h100-sxm
vllm serve llama-3.2-1b --max-model-len 8192 --gpu-memory-utilization 0.45 --port 8001 &
vllm serve llama-3.2-3b --max-model-len 8192 --gpu-memory-utilization 0.45 --port 8002 &
