"""Logs of SGLang with the estimate beside them."""

from kvplan.core.units import GIB
from kvplan.explainer.case import Said
from kvplan.explainer.explanation import of_blocks

LOG = """\
server_args=ServerArgs(model_path='Qwen/QwQ-32B', dtype='auto', kv_cache_dtype='auto', mem_fraction_static=0.85, tp_size=4)
[TP0] Load weight begin. avail mem=21.63 GB
[TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=15.54 GB.
[TP0] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB, V size: 1.42 GB
[TP0] Memory pool end. avail mem=2.09 GB
The server is fired up and ready to roll!
"""
"""The figures of a public log of SGLang 0.4.3 with QwQ-32B on four cards of 24 GB."""


def test_the_ledger_beside_a_public_log() -> None:
    found = of_blocks([LOG.encode()], Said(gpu="rtx-4090"))
    assert found.engine == "sglang"
    rows = {row.term: row for row in found.ledger}
    weights, pool = rows["weights"], rows["kv_cache"]
    assert weights.low_bytes is not None
    assert weights.printed_bytes is not None
    assert pool.printed_bytes is not None
    assert weights.high_bytes is not None
    assert weights.low_bytes <= weights.printed_bytes <= weights.high_bytes
    assert pool.printed_bytes == int(1.42 * GIB) * 2
    assert pool.low_bytes is not None
    assert pool.low_bytes <= pool.printed_bytes


def test_replicas_have_cards_of_their_own() -> None:
    apart = of_blocks([LOG.replace("tp_size=4", "tp_size=4, dp_size=2").encode()], Said(gpu="rtx-4090"))
    shared = of_blocks([LOG.replace("tp_size=4", "tp_size=4, dp_size=2, enable_dp_attention=True").encode()], Said(gpu="rtx-4090"))
    for found in (apart, shared):
        assert {row.term for row in found.ledger if row.estimated_bytes is not None} >= {"weights", "kv_cache"}
