#!/bin/sh
# the 405B of the nightly evaluation
vllm serve llama-3.1-405b-fp8 --max-model-len 131072 -tp 4
# kvplan: ignore[KV502] requests queue in front of it
vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 512
