"""Each family against counts that its own modeling code gave: tests/data/families/<adapter>.json.

A case is {"config", "n_params", "source", "layers"}; ``layers`` counts layers by what they keep:
``full``, ``sliding:1024``, ``mla+indexer``, ``mamba2``, ``full+mamba2``, ``none``, with ``shared`` for borrowed K and V.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kvplan import _discover
from kvplan.core.model import Layer
from kvplan.specs.build import ARCHS, build

CASES = Path(__file__).parent.parent / "data" / "families"


def cases() -> list[tuple[str, dict[str, Any]]]:
    return [(f"{path.stem}-{i}", case) for path in sorted(CASES.glob("*.json")) for i, case in enumerate(json.loads(path.read_text()))]


def label(layer: Layer) -> str:
    if layer.kv_source is not None:
        return "shared"
    parts = []
    for mixer in layer.mixers:
        window = getattr(mixer, "window_tokens", None)
        parts.append(f"{mixer.kind}:{window}" if window else mixer.kind)
        if getattr(mixer, "indexer", None):
            parts.append("indexer")
    return "+".join(parts) or "none"


@pytest.mark.parametrize(("name", "case"), cases(), ids=[name for name, _ in cases()])
def test_parameters_and_layers(name: str, case: dict[str, Any]) -> None:
    spec = build(case["config"], where=name)
    assert spec.n_params == case["n_params"], case["source"]
    assert dict(Counter(label(layer) for layer in spec.layers())) == case["layers"]
    assert spec.n_active_params <= spec.n_params


def test_every_model_type_has_a_case() -> None:
    claimed = set(_discover.claimants(ARCHS, "MODEL_TYPES"))
    covered = {case["config"]["model_type"] for _, case in cases()} | {
        case["config"].get("text_config", {}).get("model_type") for _, case in cases()
    }
    assert claimed - covered == set()
