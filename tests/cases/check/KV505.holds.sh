# kvplan check --gpu l4
docker run vllm/vllm-openai:v0.9.2 --model llama-3.1-8b --max-model-len 8192 --gpu-memory-utilization 0.9
