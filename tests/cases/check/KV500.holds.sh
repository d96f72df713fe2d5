# kvplan check --gpu rtx-3060-12
llama-server -m llama-3.1-8b-instruct -c 4096 -ngl 20
