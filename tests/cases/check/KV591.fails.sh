# kvplan check --gpu l40s
vllm serve acme/our-own-13b
