# kvplan check --gpu h100-sxm
docker run vllm/vllm-openai:v0.11.0 --model llama-3.1-8b --max-model-len 8192
