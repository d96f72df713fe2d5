"""Weights at rest as a checkpoint's headers, or the sizes of its files, have them."""

from kvplan.core.checkpoint import Checkpoint, Holding, Part
from kvplan.core.ledger import Entry, Interval, NotModeled, exactly
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from tests.engines.transformers.running import LATENT, NEWEST, by_term, deployment, model

LOAD = Workload(40, 2, 30)
AWQ = {"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 32}}


def weights(spec: ModelSpec, *, version: str = NEWEST, dtype: str = "auto") -> Entry:
    return by_term(deployment(spec, version=version, dtype=dtype).entries(LOAD))["weights"]


def headers(**n_bytes: int) -> Checkpoint:
    """A checkpoint with as many bytes in each part."""
    parts: dict[str, Part] = {"model": "model", "mtp": "mtp", "tower": "tower", "tied": "tied", "buffer": "buffer"}
    holdings = tuple(Holding(parts[part], "other", "uint8", 1, size, size) for part, size in n_bytes.items())
    total = sum(n_bytes.values())
    return Checkpoint("safetensors", "headers", 2, total + 100, total, holdings)


def sizes(n_bytes: int) -> Checkpoint:
    return Checkpoint("torch", "file sizes", 1, n_bytes, n_bytes)


def quantized(checkpoint: Checkpoint | None) -> ModelSpec:
    return model(changed=AWQ)._replace(checkpoint=checkpoint)


def test_a_quantized_model_takes_what_its_headers_say() -> None:
    found = weights(quantized(headers(model=70_000, mtp=9)))
    assert (found.size, found.basis) == (exactly(70_000), "exact")
    assert (found.formula, found.inputs) == ("{stored} B stored", {"stored": 70_000})
    assert found.source.endswith(": headers of 2 safetensors files")


def test_groups_that_run_in_another_type_take_more_than_is_stored() -> None:
    # two mixture layers, each with a router of 8 × 64 that is stored in 2 bytes and runs in 4
    spec = model(LATENT, changed=AWQ)._replace(checkpoint=headers(model=50_000))
    more = 2 * 8 * 64 * 2
    assert weights(spec).size == exactly(50_000 + more)
    assert weights(spec).inputs == {"stored": 50_000, "more": more}
    before = weights(spec, version="5.23.0")
    assert (before.size, before.basis) == (Interval(50_000, 50_000 + more, 50_000 + more), "modeled")


def test_an_unquantized_model_is_arithmetic_that_its_headers_confirm() -> None:
    spec = model()
    found = weights(spec._replace(checkpoint=headers(model=5)))
    assert found.size == weights(spec).size
    assert found.source == f"{weights(spec).source}; the headers of its files hold as many"
    doubted = weights(spec._replace(checkpoint=headers(model=5), exact=False))
    assert doubted.source == weights(spec).source


def test_another_type_than_stored_is_arithmetic() -> None:
    assert weights(quantized(headers(model=5)), dtype="float32").size == weights(quantized(None), dtype="float32").size


def test_sizes_of_files_bound_a_quantized_model() -> None:
    bare = weights(quantized(None))
    found = weights(quantized(sizes(2 * bare.size.high)))
    assert (found.size, found.basis) == (Interval(bare.size.low, bare.size.best, 2 * bare.size.high), "modeled")
    assert found.source.endswith(": sizes of 1 torch file")
    assert weights(quantized(sizes(1000))).size == exactly(1000)
    assert weights(model()._replace(checkpoint=sizes(1000))).size == weights(model()).size


def left_out(spec: ModelSpec) -> list[NotModeled]:
    return [item for item in deployment(spec).not_modeled if item.low_bytes == 0]


def test_what_files_hold_besides_is_listed() -> None:
    found = left_out(model()._replace(checkpoint=headers(model=5, mtp=1000, tower=2, tied=3, buffer=4)))
    assert [item.id for item in found] == ["mtp_layers", "towers_left_out", "stored_copies", "stored_tables"]
    assert found[0].message == "in the checkpoint, not loaded by Transformers: next-token layers, 1,000 B"
    assert {(item.low_bytes, item.high_bytes) for item in found} == {(0, 0)}
    assert left_out(model()._replace(checkpoint=headers(model=5))) == []


def test_next_token_layers_by_arithmetic_where_no_headers_were_read() -> None:
    spec = model(LATENT, num_nextn_predict_layers=1)
    assert spec.mtp_bytes
    for files in (None, sizes(9)):
        (found,) = left_out(spec._replace(checkpoint=files))
        assert found.message.endswith(f"next-token layers, {spec.mtp_bytes:,} B, by arithmetic")
