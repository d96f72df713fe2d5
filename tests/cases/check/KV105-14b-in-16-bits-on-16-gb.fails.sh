# kvplan check --gpu a2
vllm serve deepseek-ai/DeepSeek-R1-Distill-Qwen-14B --max-model-len 4096
