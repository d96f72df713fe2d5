# kvplan check --gpu h200
vllm serve deepseek-ai/DeepSeek-V3 --max-model-len 8192 -tp 8
