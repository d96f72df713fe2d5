"""The flags of SGLang that bear on memory, and how all of them are spelled."""

from functools import cache

from kvplan.core.flag_words import Grammar, Kind
from kvplan.engines.sglang.known import known_flags
from kvplan.engines.sglang.versions import VERSIONS

KINDS: dict[str, Kind] = {
    "attention-backend": "word",
    "chunked-prefill-size": "human",
    "context-length": "human",
    "cuda-graph-max-bs": "whole",
    "cuda-graph-max-bs-decode": "whole",
    "disable-cuda-graph": "switch",
    "disable-hybrid-swa-memory": "switch",
    "disable-radix-cache": "switch",
    "dp-size": "count",
    "dtype": "word",
    "enable-dp-attention": "switch",
    "ep-size": "count",
    "json-model-override-args": "word",
    "kv-cache-dtype": "word",
    "longer-context": "switch",
    "mamba-full-memory-ratio": "word",
    "mamba-ssm-dtype": "word",
    "max-mamba-cache-size": "count",
    "max-running-requests": "count",
    "max-total-tokens": "human",
    "mem-fraction-static": "share",
    "page-size": "count",
    "pp-size": "count",
    "quantization": "word",
    "speculative-algorithm": "word",
    "swa-full-tokens-ratio": "word",
    "tp-size": "count",
}

SAME = {
    "attention-context-parallel-size": "attn-cp-size",
    "attention-data-parallel-size": "attn-dp-size",
    "data-parallel-size": "dp-size",
    "decode-context-parallel-size": "dcp-size",
    "ep": "ep-size",
    "expert-parallel-size": "ep-size",
    "model-path": "model",
    "nccl-init-addr": "dist-init-addr",
    "pipeline-parallel-size": "pp-size",
    "pp": "pp-size",
    "dp": "dp-size",
    "tensor-parallel-size": "tp-size",
    "tp": "tp-size",
}
"""Other spellings of one flag; --tp and its kin are what argparse makes of the cut-off ones."""

UNMODELED = {
    "attn-cp-size": "all tokens are taken to lie on every rank",
    "attn-dp-size": "attention is taken to be split over all ranks",
    "cpu-offload-gb": "all weights are taken to be on the GPU",
    "dcp-size": "all tokens are taken to lie on every rank",
    "draft-model-path": "the drafter's layers and cache are left out",
    "enable-hierarchical-cache": "what it keeps on the host is left out",
    "enable-hisparse": "the pools of sparse layers are taken to be the usual ones",
    "enable-lora": "the buffers of adapters are left out",
    "enable-memory-saver": "its allocator is taken to be the usual one",
    "enable-symm-mem": "memory that is set aside for symmetric buffers is left out",
    "enable-two-batch-overlap": "the buffers of a second batch are left out",
    "enable-unified-memory": "pools are taken to be apart",
    "lora-paths": "the buffers of adapters are left out",
    "moe-a2a-backend": "its buffers are left out",
    "offload-group-size": "all weights are taken to be on the GPU",
    "torchao-config": "the checkpoint is taken as its own config describes it",
}
"""Flags that bear on memory in a way that no estimate here follows, and what it does instead."""


@cache
def grammar() -> Grammar:
    """How SGLang's argument parser reads: ``--tp-size 4``, ``--tp=4``, cut off where that is clear.

    Source: sglang 0.5.23 srt/server_args.py, add_cli_args; Python's argparse, allow_abbrev.
    """
    known = {flag.name: flag for flag in known_flags().values() if flag.name not in SAME}
    known["model"] = known_flags()["model-path"]._replace(name="model")
    return Grammar("sglang", known, KINDS, SAME, VERSIONS[-1], cuts=True)
