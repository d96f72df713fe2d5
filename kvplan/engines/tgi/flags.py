"""The flags of the launcher, and those among them that bear on memory.

Source: text-generation-inference launcher/src/main.rs, struct Args, of 1.4.5, 2.0.4, 2.4.1 and 3.3.7. Each has a variable of its name.
"""

from functools import cache

from kvplan.core.flag_words import Grammar, Kind, table
from kvplan.engines.tgi.rules import VERSIONS

KINDS: dict[str, Kind] = {
    "cuda-graphs": "word",
    "cuda-memory-fraction": "share",
    "dtype": "word",
    "kv-cache-dtype": "word",
    "max-batch-prefill-tokens": "count",
    "max-batch-size": "count",
    "max-batch-total-tokens": "count",
    "max-concurrent-requests": "count",
    "max-input-tokens": "count",
    "max-total-tokens": "count",
    "num-shard": "count",
    "quantize": "word",
    "sharded": "switch",
}
SAME = {"max-input-length": "max-input-tokens", "model-id": "model"}
UNMODELED = {
    "lora-adapters": "the buffers of adapters are left out",
    "rope-factor": "the model is estimated as its own config describes it",
    "rope-scaling": "the model is estimated as its own config describes it",
    "speculate": "the heads that draft are left out",
}
"""Flags that bear on memory in a way that no estimate here follows, and what it does instead."""

_TABLE = """
1.4-2.0: enable-cuda-graphs!
1.4-: cors-allow-origin cuda-memory-fraction disable-custom-kernels! disable-grammar-support! dtype env! hostname huggingface-hub-cache
  json-output! master-addr master-port max-batch-prefill-tokens max-batch-size max-batch-total-tokens max-best-of
  max-concurrent-requests max-stop-sequences max-top-n-tokens max-total-tokens max-waiting-tokens model ngrok! ngrok-authtoken
  ngrok-edge num-shard otlp-endpoint port quantize revision rope-factor rope-scaling shard-uds-path sharded speculate
  tokenizer-config-path trust-remote-code! validation-workers waiting-served-ratio watermark-delta watermark-gamma
  weights-cache-override max-input-tokens
2.0-: api-key cuda-graphs max-client-batch-size otlp-service-name
2.1-: lora-adapters usage-stats disable-usage-stats!
2.4-: kv-cache-dtype payload-limit
3.1-: enable-prefill-logprobs! graceful-termination-timeout prometheus-port
"""


@cache
def grammar() -> Grammar:
    """How clap reads them: in full, with or without an equals sign."""
    return Grammar("tgi", table(_TABLE), KINDS, SAME, VERSIONS[-1])


def variables() -> dict[str, str]:
    """Flags by the variable that says the same."""
    names = {name: name for name in (*KINDS, *SAME)} | SAME
    return {said.upper().replace("-", "_"): flag for said, flag in names.items()}
