"""Spec files whose checkpoint section can't be what any headers said."""

import pytest

from kvplan import KvplanError
from kvplan.specs.raw import validated

HELD = ["model", "attention", "bfloat16", 9, 1000, 2000]
FACTS = {"format": "safetensors", "basis": "headers", "n_files": 1, "file_bytes": 2100, "n_bytes": 2000, "holdings": [HELD]}


def check(**changes: object) -> None:
    validated({"id": "a/b", "config": {"model_type": "llama"}, "checkpoint": {**FACTS, **changes}}, where="s.yaml")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n_bytes": 5}, "n_bytes: expected 2,000, the sum of what is held, found 5"),
        ({"n_bytes": 2**200}, "checkpoint.n_bytes: input should be less than"),
        ({"holdings": []}, "n_bytes: expected 0"),
        ({"holdings": [[*HELD[:2], "zzz", *HELD[3:]]]}, "unknown element type 'zzz'"),
        ({"holdings": [[*HELD[:5], 5]]}, "model, attention: 1,000 elements of bfloat16 do not take 5 bytes"),
        ({"holdings": [[*HELD[:4], 10**30, 2000]]}, "input should be less than"),
        ({"file_bytes": 1}, "expected files of at least 2,000 bytes, found 1 of 1"),
        ({"n_files": 0}, "expected files of at least 2,000 bytes, found 0 of 2,100"),
        ({"basis": "file sizes"}, "n_bytes: expected 2,100"),
        ({"basis": "file sizes", "n_bytes": 2100}, "expected none where file sizes are all that is known"),
    ],
)
def test_checkpoints_that_do_not_add_up(changes: dict[str, object], says: str) -> None:
    with pytest.raises(KvplanError, match=says) as caught:
        check(**changes)
    assert (caught.value.kind, caught.value.exit_code) == ("bad_spec", 2)


def test_checkpoints_that_do() -> None:
    check()
    check(basis="file sizes", n_bytes=2100, holdings=[])
    check(holdings=[["model", "expert", "float4_e2m1", 1, 4000, 2000]])
