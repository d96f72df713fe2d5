# kvplan check --gpu l4
vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 16
