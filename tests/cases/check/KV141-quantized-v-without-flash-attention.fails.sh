# kvplan check --gpu rtx-4090
llama-server -m llama-3.1-8b -c 8192 -ctk q8_0 -ctv q8_0 -fa off
