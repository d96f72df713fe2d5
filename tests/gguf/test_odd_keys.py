"""Whatever stands at a key: a model, or a refusal in words, and soon."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvplan.core.errors import RequestError
from kvplan.specs.gguf.build import build
from kvplan.specs.gguf.values import Skipped, Value
from tests.gguf.making import header
from tests.gguf.test_archs import CASES

ODD: tuple[Value | None, ...] = (
    *(None, 0, 1, -1, 3, 2**40, 2**63, True, "x", 1.5, Skipped("int32", 5000)),
    *((), (1,), (0,) * 4, (1,) * 4, (True,) * 4, (2**40,) * 4, (1.5,) * 4),
)
USUAL = ("context_length", "embedding_length", "block_count", "attention.head_count", "attention.head_count_kv", "expert_count")
MORE = ("expert_used_count", "nextn_predict_layers", "attention.key_length", "feed_forward_length", "rope.dimension_count")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_odd_values(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(CASES))
    key, value = data.draw(st.sampled_from((*case.keys, *USUAL, *MORE))), data.draw(st.sampled_from(ODD))
    made = header(case.arch, {name: of for name, of in case.keys.items() if name != "block_count"})
    values: dict[str, Any] = {**made.values, f"{case.arch}.{key}": value}
    if value is None:
        del values[f"{case.arch}.{key}"]
    made = made._replace(values=values)
    spec, refusal = None, "odd.gguf: "
    try:
        spec = build(made, "odd.gguf")
    except RequestError as problem:
        refusal = problem.message
    assert refusal.startswith("odd.gguf: ")
    if spec is not None:
        assert 0 < spec.n_active_params <= spec.n_params
        sizes = ("elems_per_token", "state_elems", "conv_elems")
        assert all(getattr(mixer, size, 0) >= 0 for run in spec.runs for mixer in run.layer.mixers for size in sizes)


def test_large_counts_are_soon_told() -> None:
    made = header("gemma3", {"attention.sliding_window": 8})
    with pytest.raises(RequestError, match="missing: expected tensors of this layer"):
        build(made._replace(values={**made.values, "gemma3.block_count": 4096}), "odd.gguf")
