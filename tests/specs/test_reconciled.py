"""Configs and headers held against each other."""

from kvplan.core.model import ModelSpec
from kvplan.specs.build import build
from kvplan.specs.weight_files import WeightFiles, with_weights
from tests.specs.test_holdings import LLAMA, llama
from tests.weights import Layout, claimed


def layout_of(spec: ModelSpec) -> dict[str, tuple[str, tuple[int, ...]]]:
    """What a LLaMA of this spec stores."""
    elements = {"bfloat16": "BF16", "float32": "F32", "float16": "F16"}[spec.stored_dtype]
    groups = {group.name: group for group in spec.weights if not group.tied_to}
    layers = {f"model.layers.{i}.{group.name}": group for i, layer in enumerate(spec.layers()) for group in layer.weights}
    shapes = {name: (g.rows, g.cols) if g.cols > 1 else (g.rows,) for name, g in (groups | layers).items()}
    return {name: (elements, shape) for name, shape in shapes.items()}


def read(spec: ModelSpec, *layouts: Layout) -> ModelSpec:
    files = {f"{i}.safetensors": claimed(layout, f"{i}.safetensors") for i, layout in enumerate(layouts)}
    return with_weights(spec, WeightFiles("safetensors", {name: file.size for name, file in files.items()}), files.__getitem__)


def told(spec: ModelSpec) -> list[str]:
    return [f"{caveat.rule}: {caveat.message}" for caveat in spec.caveats]


def test_files_that_hold_what_is_counted() -> None:
    spec = llama()
    layout = layout_of(spec)
    halves = dict(list(layout.items())[:5]), dict(list(layout.items())[5:])
    found = read(spec._replace(exact=False), *halves)
    assert (found.exact, found.off_by, told(found)) == (True, (0, 0), [])
    assert found.checkpoint is not None
    assert found.checkpoint.n_files == 2
    assert found.checkpoint.n_bytes == found.checkpoint.bytes_in("model") == spec.weight_bytes
    assert found.checkpoint.file_bytes > spec.weight_bytes


def test_more_or_fewer_parameters_than_counted() -> None:
    spec = llama()
    layout = layout_of(spec)
    more = read(spec, layout | {"model.extra.weight": ("BF16", (100,))})
    message = (
        f"KV018: the files hold {spec.n_params + 100:,} parameters, {spec.n_params:,} are counted: parts that the config does not speak of"
    )
    assert (more.exact, more.off_by, told(more)) == (False, (0, 1), [message])
    fewer = read(spec, {name: tensor for name, tensor in layout.items() if name != "model.layers.0.mlp.up_proj.weight"})
    assert (fewer.exact, fewer.off_by) == (False, (8, 0))
    assert told(fewer)[0].endswith("parts that are left out or that the model shares")
    cut = read(spec, {name: tensor for name, tensor in layout.items() if "layers.1." not in name})
    assert told(cut)[0].endswith("they end with layer 0, the config has 2 layers")
    untied = read(spec, {name: tensor for name, tensor in layout.items() if "lm_head" not in name})
    assert told(untied)[0].endswith("a table of the vocabulary less, stored apart or shared")
    longer = read(spec, layout | {"embed_tokens.weight": ("BF16", (128, 32))})
    assert told(longer)[0].endswith("'embed_tokens.weight' has 128 rows, the config's vocabulary 96")
    packed = read(spec, {"model.layers.1.mlp.up_proj.weight": ("U32", (99, 99))})
    assert len(packed.caveats) == 1
    assert told(packed)[0].endswith("most are packed by a quantization that the config does not name")


def test_tables_of_sines_are_in_no_file_and_in_memory_all_the_same() -> None:
    spec = llama()
    positions = spec.weights[0]._replace(name="embed_positions.weight", rows=64)
    found = read(spec._replace(weights=(*spec.weights, positions)), layout_of(spec))
    assert (found.exact, told(found)) == (True, [])


def test_other_element_types_than_the_config_says() -> None:
    spec = llama()
    layout = {name: ("F32", shape) for name, (_, shape) in layout_of(spec).items()}
    found = read(spec, layout)
    assert found.exact
    assert told(found) == [
        f"KV019: the config says bfloat16, of {spec.n_params:,} elements the files hold {spec.n_params:,} in float32: "
        "converted while they are loaded"
    ]
    some = read(spec, layout_of(spec) | {"model.layers.0.input_layernorm.weight": ("F32", (32,))})
    assert "the files hold 32 in float32" in told(some)[0]


def test_a_config_without_a_dtype_takes_that_of_the_files() -> None:
    spec = build({key: value for key, value in LLAMA.items() if key != "dtype"}, where="config.json")
    assert [caveat.rule for caveat in spec.caveats] == ["KV003"]
    found = read(spec, layout_of(llama()) | {"model.layers.0.input_layernorm.weight": ("F32", (32,))})
    assert found.stored_dtype == "bfloat16"
    assert [caveat.rule for caveat in found.caveats] == ["KV019"]
    assert read(spec, {"a": ("U8", (9,))}).stored_dtype == "float32"


AWQ = {"quant_method": "awq", "bits": 4, "group_size": 32}


def quantized_layout(spec: ModelSpec) -> dict[str, tuple[str, tuple[int, ...]]]:
    """As many bytes as counted, all in the last layer."""
    return {"model.layers.1.mlp.up_proj.qweight": ("U8", (spec.weight_bytes,))}


def test_a_quantized_checkpoint_of_the_bytes_counted_is_exact() -> None:
    spec = llama(quantization_config=AWQ)
    found = read(spec._replace(exact=False, off_by=(1, 2)), quantized_layout(spec))
    assert (found.exact, found.off_by, told(found)) == (True, (0, 0), [])


def test_a_quantized_checkpoint_of_other_bytes() -> None:
    spec = llama(quantization_config=AWQ)._replace(exact=False, off_by=(1, 2))
    near = read(spec, quantized_layout(spec) | {"model.layers.1.mlp.up_proj.qzeros": ("U8", (9,))})
    assert (near.exact, near.off_by, told(near)) == (False, (1, 2), [])
    far = read(spec, {"model.layers.1.mlp.up_proj.qweight": ("U8", (99,))})
    assert told(far) == [
        f"KV018: the files hold 99 B of the model, 'awq' as the config has it makes {spec.weight_bytes:,} B: the files count"
    ]


def test_an_unknown_quantization_is_known_by_its_files() -> None:
    spec = llama(quantization_config={"quant_method": "quantum"})
    assert [caveat.rule for caveat in spec.caveats] == ["KV004"]
    found = read(spec, {"model.layers.1.mlp.up_proj.weight": ("U8", (99,))})
    assert told(found) == ["KV020: unknown quantization method 'quantum': weights are counted as they lie in the files"]
