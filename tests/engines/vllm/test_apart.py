"""Which settings keep layers of several kinds together, as vllm 0.10.2 to 0.33.0 config/vllm.py decide it."""

import pytest

from kvplan.core.errors import RequestError
from kvplan.core.mixers import ChunkedAttention
from kvplan.core.model import Layer, LayerRun
from tests.engines.vllm.resolving import GEMMA, LLAMA, settled

CHUNKED = LLAMA._replace(runs=(LayerRun(3, Layer((ChunkedAttention(8, 8, 128, 128, 8192),), (), ())), LLAMA.runs[0]))
DRAFTED = "--spec-model x/eagle3 --spec-tokens 2"


def transfer(connector: str, extra: str = "{}") -> str:
    return f'--kv-transfer-config \'{{"kv_connector": "{connector}", "kv_role": "kv_both", "kv_connector_extra_config": {extra}}}\''


MANY = '{{"connectors": [{{"kv_connector": "NixlConnector"}}, {{"kv_connector": "{}"}}]}}'


@pytest.mark.parametrize(
    ("version", "flags", "apart"),
    [
        ("0.33.0", "", True),
        ("0.33.0", DRAFTED, False),
        ("0.33.0", "--spec-model ngram --spec-tokens 2", True),
        ("0.14.1", "", True),
        ("0.14.1", '--speculative-config \'{"model": "x/eagle3", "num_speculative_tokens": 2}\'', False),
        ("0.13.0", "", False),
        ("0.10.2", "", False),
        ("0.9.2", "", True),
    ],
)
def test_chunks(version: str, flags: str, *, apart: bool) -> None:
    assert settled(flags, version, CHUNKED).hybrid_manager is apart


@pytest.mark.parametrize(
    ("version", "flags", "apart"),
    [
        ("0.33.0", transfer("NixlConnector"), True),
        ("0.33.0", transfer("LMCacheConnectorV1"), False),
        ("0.33.0", transfer("MultiConnector", MANY.format("OffloadingConnector")), True),
        ("0.33.0", transfer("MultiConnector", MANY.format("LMCacheConnectorV1")), False),
        ("0.33.0", transfer("MultiConnector", "[]"), False),
        ("0.33.0", "--kv-transfer-config '{}'", True),
        ("0.19.0", transfer("NixlConnector"), False),
        ("0.19.0", transfer("NixlConnector") + " --no-disable-hybrid-kv-cache-manager", True),
        ("0.19.0", '--kv-events-config \'{"publisher": "zmq"}\'', False),
        ("0.33.0", '--kv-events-config \'{"publisher": "zmq"}\'', True),
        ("0.33.0", "--disable-hybrid-kv-cache-manager", False),
        ("0.8.5", transfer("NixlConnector"), True),
    ],
)
def test_blocks_that_are_sent_elsewhere(version: str, flags: str, *, apart: bool) -> None:
    assert settled(flags, version, GEMMA).hybrid_manager is apart


def test_a_connector_has_a_name() -> None:
    with pytest.raises(RequestError, match=r"kv-transfer-config\.kv_connector"):
        settled("--kv-transfer-config '{\"kv_connector\": 3}'")
