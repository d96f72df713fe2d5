"""How each method lays out a projection: bytes of a small model by the formula of the method's own source."""

from collections.abc import Callable
from typing import Any

import pytest

from kvplan.specs.config import ConfigError
from tests.specs.quantized import ENDS, PROJECTIONS, REST, small

BytesOf = Callable[[int, int], int]
W8 = {"num_bits": 8, "type": "float"}
W4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32}
NVFP4 = {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}
MXFP4 = {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}


def compressed(weights: dict[str, Any], form: str = "", **more: Any) -> dict[str, Any]:
    groups = {"g": {"targets": ["Linear"], "weights": weights, **more}}
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": groups, "ignore": ["lm_head"]}


def ao(name: str, **data: Any) -> dict[str, Any]:
    return {"quant_method": "torchao", "quant_type": {"default": {"_type": name, "_version": 1, "_data": data}}}


def hqq(**params: Any) -> dict[str, Any]:
    return {"quant_method": "hqq", "quant_config": {"weight_quant_params": params}}


def quark(weight: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"quant_method": "quark", "global_quant_config": {"weight": weight, **more}, "export": {}}


def blocks(n: int, size: int) -> int:
    return -(-n // size)


LAYOUTS: dict[str, tuple[dict[str, Any], BytesOf]] = {
    "fp8 blocks": (
        {"quant_method": "fp8", "weight_block_size": [128, 128]},
        lambda rows, cols: rows * cols + 4 * blocks(rows, 128) * blocks(cols, 128),
    ),
    "mxfp8 blocks": (
        {"quant_method": "fp8", "weight_block_size": [1, 32], "scale_fmt": "ue8m0"},
        lambda rows, cols: rows * cols + rows * cols // 32,
    ),
    "fp8 tensors, static": ({"quant_method": "fp8", "activation_scheme": "static"}, lambda rows, cols: rows * cols + 4),
    "fp8 tensors": ({"quant_method": "fp8"}, lambda rows, cols: rows * cols + 2),
    "fp8 rows": ({"quant_method": "fbgemm_fp8"}, lambda rows, cols: rows * cols + 4 * rows),
    "awq": (
        {"quant_method": "awq", "bits": 4, "group_size": 64},
        lambda rows, cols: rows * cols // 2 + (cols // 64) * (2 * rows + rows // 2),
    ),
    "awq gemv": (  # 4 groups of 64 or 2 of 128 are padded to 16 zero points or 8
        {"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemv"},
        lambda rows, cols: rows * cols // 2 + rows * 16 * 5 // 2,
    ),
    "gptq": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": True, "sym": False},
        lambda rows, cols: rows * cols // 2 + 2 * rows * (cols // 128) + rows * (cols // 128) // 2 + 4 * cols,
    ),
    "gptq of 3 bits, version 2": (
        {"quant_method": "gptq", "bits": 3, "group_size": -1, "checkpoint_format": "gptq_v2"},
        lambda rows, cols: rows * cols * 3 // 8 + 2 * rows + rows * 3 // 8 + 4 * cols,
    ),
    "gptq for marlin": (
        {"quant_method": "gptq", "bits": 4, "group_size": 128, "checkpoint_format": "marlin"},
        lambda rows, cols: rows * cols // 2 + 2 * rows * (cols // 128),
    ),
    "auto-round": (
        {"quant_method": "auto-round", "bits": 2, "group_size": 64, "packing_format": "auto_round:auto_awq"},
        lambda rows, cols: rows * cols // 4 + (cols // 64) * (2 * rows + rows // 4),
    ),
    "int8": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, lambda rows, cols: rows * cols + 4 * rows + 1),
    "nf4": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 64 + 90),
    "nf4, nested": (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
        lambda rows, cols: rows * cols // 2 + rows * cols // 64 + 4 * blocks(rows * cols // 64, 256) + 64 + 1024 + 173,
    ),
    "ternary": ({"quant_method": "bitnet"}, lambda rows, cols: rows * cols // 4 + 2),
    "ternary, online": ({"quant_method": "bitnet", "quantization_mode": "online"}, lambda rows, cols: 2 * rows * cols),
    "modelopt FP8": ({"quant_algo": "FP8"}, lambda rows, cols: rows * cols + 8),
    "modelopt FP8 rows": ({"quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}, lambda rows, cols: rows * cols + 4 * rows),
    "modelopt FP8 blocks": ({"quant_algo": "FP8_PB_WO"}, lambda rows, cols: rows * cols + 4 * blocks(rows, 128) * blocks(cols, 128)),
    "modelopt NVFP4": ({"quant_algo": "NVFP4"}, lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 8),
    "modelopt NVFP4 weights": ({"quant_algo": "W4A16_NVFP4"}, lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 4),
    "modelopt NVFP4, smoothed": ({"quant_algo": "NVFP4_AWQ"}, lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 8 + 2 * cols),
    "modelopt MXFP8": ({"quant_algo": "MXFP8"}, lambda rows, cols: rows * cols + rows * cols // 32),
    "modelopt MXFP4": ({"quant_algo": "MXFP4"}, lambda rows, cols: rows * cols // 2 + rows * cols // 32),
    "modelopt AWQ": ({"quant_algo": "W4A16_AWQ"}, lambda rows, cols: rows * cols // 2 + 2 * rows * (cols // 128) + 2 * cols),
    "modelopt AWQ, FP8 inputs": ({"quant_algo": "W4A8_AWQ"}, lambda rows, cols: rows * cols // 2 + 2 * rows * (cols // 128) + 2 * cols + 8),
    "modelopt INT8": ({"quant_algo": "INT8_SQ"}, lambda rows, cols: rows * cols + 4 * rows + 4 + 2 * cols),
    "compressed FP8 tensors": (compressed(W8), lambda rows, cols: rows * cols + 2),
    "compressed FP8 tensors, static": (
        compressed(W8, input_activations=W8 | {"dynamic": False}),
        lambda rows, cols: rows * cols + 4,
    ),
    "compressed FP8 channels": (compressed(W8 | {"strategy": "channel"}), lambda rows, cols: rows * cols + 2 * rows),
    "compressed FP8 blocks": (
        compressed(W8 | {"strategy": "block", "block_structure": [128, 128]}),
        lambda rows, cols: rows * cols + 2 * blocks(rows, 128) * blocks(cols, 128),
    ),
    "compressed INT4 groups": (compressed(W4, "pack-quantized"), lambda rows, cols: rows * cols // 2 + 2 * rows * (cols // 32) + 16),
    "compressed INT4 groups, not symmetric": (
        compressed(W4 | {"symmetric": False, "actorder": "group"}, "pack-quantized"),
        lambda rows, cols: rows * cols // 2 + rows * (cols // 32) * 5 // 2 + 16 + 4 * cols,
    ),
    "compressed INT8": (
        compressed({"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": False}, "int-quantized"),
        lambda rows, cols: rows * cols + 3 * rows,
    ),
    "compressed NVFP4": (
        compressed(NVFP4, "nvfp4-pack-quantized", input_activations=NVFP4 | {"dynamic": "local"}),
        lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 8,
    ),
    "compressed NVFP4 weights": (compressed(NVFP4, "nvfp4-pack-quantized"), lambda rows, cols: rows * cols // 2 + rows * cols // 16 + 4),
    "compressed MXFP4": (compressed(MXFP4, "mxfp4-pack-quantized"), lambda rows, cols: rows * cols // 2 + rows * cols // 32),
    "compressed MXFP8": (compressed(W8 | {"strategy": "group", "group_size": 32}), lambda rows, cols: rows * cols + rows * cols // 32),
    "torchao int4": (ao("Int4WeightOnlyConfig", group_size=64), lambda rows, cols: rows * cols // 2 + 4 * rows * (cols // 64)),
    "torchao int4, named as of old": (
        {"quant_method": "torchao", "quant_type": "int4_weight_only", "quant_type_kwargs": {"group_size": 32}},
        lambda rows, cols: rows * cols // 2 + 4 * rows * (cols // 32),
    ),
    "torchao int8": (ao("Int8WeightOnlyConfig"), lambda rows, cols: rows * cols + 2 * rows),
    "torchao int4 in bytes": (ao("Int8DynamicActivationInt4WeightConfig"), lambda rows, cols: rows * cols + 3 * rows * (cols // 32)),
    "torchao intx": (
        ao("IntxWeightOnlyConfig", granularity={"_type": "PerAxis", "_data": {"axis": 0}}),
        lambda rows, cols: rows * cols + 3 * rows,
    ),
    "torchao float8": (ao("Float8WeightOnlyConfig"), lambda rows, cols: rows * cols + 4 * rows),
    "torchao float8 tensors": (ao("Float8DynamicActivationFloat8WeightConfig"), lambda rows, cols: rows * cols + 4),
    "torchao float8 rows": (
        ao("Float8DynamicActivationFloat8WeightConfig", granularity=[{"_type": "PerRow", "_data": {}}] * 2),
        lambda rows, cols: rows * cols + 4 * rows,
    ),
    "quanto int8": ({"quant_method": "quanto", "weights": "int8"}, lambda rows, cols: rows * cols + 2 * rows),
    "quanto int4": ({"quant_method": "quanto", "weights": "int4"}, lambda rows, cols: rows * cols // 2 + 4 * rows * (cols // 128)),
    "eetq": ({"quant_method": "eetq"}, lambda rows, cols: rows * cols + 2 * rows),
    "hqq": (hqq(nbits=4, group_size=64, axis=1), lambda rows, cols: rows * cols // 2 + 4 * (rows * cols // 64)),
    "hqq rows": (hqq(nbits=8, group_size=None), lambda rows, cols: rows * cols + 4 * rows),
    "aqlm 1x16": ({"quant_method": "aqlm"}, lambda rows, cols: rows * cols // 4 + 2 * 8 * 2**16 + 2 * rows),
    "aqlm 2x8": (
        {"quant_method": "aqlm", "num_codebooks": 2, "nbits_per_codebook": 8},
        lambda rows, cols: rows * cols // 4 + 2 * 8 * 2 * 256 + 2 * rows,
    ),
    "quark fp8": (
        quark({"dtype": "fp8_e4m3", "qscheme": "per_tensor"}, input_tensors={"dtype": "fp8_e4m3", "is_dynamic": False}),
        lambda rows, cols: rows * cols + 8,
    ),
    "quark int8": (quark({"dtype": "int8", "qscheme": "per_channel"}), lambda rows, cols: rows * cols + 2 * rows),
    "quark uint4": (
        quark({"dtype": "uint4", "qscheme": "per_group", "group_size": 128}),
        lambda rows, cols: rows * cols // 2 + rows * (cols // 128) * 5 // 2,
    ),
    "quark mxfp4": (quark({"dtype": "fp4", "qscheme": "per_group", "group_size": 32}), lambda rows, cols: rows * cols * 17 // 32),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts(name: str) -> None:
    quantization, bytes_of = LAYOUTS[name]
    assert small(quantization).weight_bytes == REST + 2 * sum(bytes_of(rows, cols) for rows, cols in PROJECTIONS)


@pytest.mark.parametrize(("bits", "per_byte"), [(8, 8), (6, 6), (4, 4)])
def test_mlx_quantizes_embeddings_and_output_projection_too(bits: int, per_byte: int) -> None:
    spec = small({"group_size": 64, "bits": bits})
    matrices = [*PROJECTIONS * 2, (1000, 256), (1000, 256)]
    assert spec.weight_bytes == REST - ENDS + sum(rows * cols * per_byte // 8 + 4 * rows * (cols // 64) for rows, cols in matrices)
    assert spec.quantization == "mlx"


@pytest.mark.parametrize(
    ("quantization", "words"),
    [
        (compressed({"num_bits": 5, "type": "int"}), "expected 2, 3, 4 or 8 bits"),
        (
            compressed({"num_bits": 4, "type": "int", "strategy": "group"}),
            "a group needs its group_size|expected tensor, channel, group or block",
        ),
        ({"quant_method": "compressed-tensors"}, "expected at least one group"),
        ({"quant_algo": "NVFP5"}, "expected one of FP8,.*found 'NVFP5'"),
        ({"quant_algo": "MIXED_PRECISION"}, "quantized_layers: missing"),
        ({"quant_method": "fp8", "weight_block_size": [128]}, r"expected \[rows, columns\]"),
        (ao("UIntXWeightOnlyConfig"), "no layout is known of 'UIntXWeightOnlyConfig'"),
        ({"quant_method": "quanto", "weights": "int3"}, "expected one of int8"),
        (hqq(nbits=3), "expected 8, 4 or 2"),
        ({"quant_method": "aqlm", "num_codebooks": 3}, "expected codes of 2, 3, 4 or 8 bits"),
        (quark({"dtype": "int5"}), "expected one of fp8_e4m3"),
        (quark({"dtype": "int8", "qscheme": "per_block"}), "expected per_tensor"),
        ({"bits": 7, "group_size": 64}, "expected one of 2, 3, 4, 5, 6, 8"),
        ({"quant_method": "gptq", "bits": 4, "modules_in_block_to_quantize": ["q_proj"]}, "a list of lists"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"-:(": {}}}, "a regular expression that is none"),
    ],
)
def test_settings_that_no_layout_has_are_refused(quantization: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        small(quantization)
