# kvplan check --gpu rtx-3060-12
llama-server -m llama-3.1-8b -c 131072 -ngl 99
