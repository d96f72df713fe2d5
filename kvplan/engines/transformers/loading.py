"""What loading a checkpoint holds: weights that are unpacked or put together on the way, and the peak of it.

Source: transformers 5.24 core_model_loading.py (convert_and_load_state_dict_in_model, MergeModulelist, Concatenate), modeling_utils.py,
quantizers/quantizer_{finegrained_fp8,mxfp4,bnb_4bit,bnb_8bit}.py.
"""

from kvplan.core.dtypes import DTYPES, PLAIN
from kvplan.core.model import Layer, LayerRun, ModelSpec, WeightGroup
from kvplan.engines.transformers.rules import Rules
from kvplan.engines.transformers.unpacked import ON_THE_WAY

NATIVE_FROM: dict[str, tuple[int, int]] = {"fp8": (8, 9), "mxfp4": (7, 5)}
"""Compute capability from which a method's kernels run; below it from_pretrained unpacks all weights into 16 bits."""


def unpacks(model: ModelSpec, capability: tuple[int, int] | None) -> bool:
    """Whether the weights are unpacked while they are loaded because the GPU is too old for their kernels."""
    needed = NATIVE_FROM.get(model.quantization or "")
    on_paper = any(caveat.rule == "KV025" for caveat in model.caveats)  # then it is another method's format of that name
    return needed is not None and capability is not None and capability < needed and not on_paper


def as_loaded(model: ModelSpec, capability: tuple[int, int] | None, dtype: str) -> ModelSpec:
    """The model as it lies on a GPU of ``capability``: quantized, or all in ``dtype`` where its kernels don't run."""
    if not unpacks(model, capability):
        return model
    made = {id(run.layer): _plain(run.layer) for run in model.runs}
    return model._replace(
        runs=tuple(LayerRun(run.n_layers, made[id(run.layer)]) for run in model.runs),
        weights=_unpacked(model.weights),
        stored_dtype=dtype,
        quantization=None,
        checkpoint=None,
    )


def _plain(layer: Layer) -> Layer:
    return layer._replace(weights=_unpacked(layer.weights))


def _unpacked(groups: tuple[WeightGroup, ...]) -> tuple[WeightGroup, ...]:
    return tuple(group._replace(dtype=None) if group.dtype not in (None, *PLAIN) else group for group in groups if group.role != "scale")


def peak(model: ModelSpec, held: int, dtype: str, rules: Rules) -> int:
    """Bytes while the last weights are loaded: ``held`` at the end, and what is alive beside them then.

    Experts that lie one by one in the files become one tensor: gate and up projections of a layer are there twice for a moment.
    Weights that are quantized on the way are there in 16 bits before.
    """
    return held + max((_beside(run.layer, dtype, rules, model) for run in model.runs), default=0)


def _beside(layer: Layer, dtype: str, rules: Rules, model: ModelSpec) -> int:
    if model.quantization in ON_THE_WAY:
        return max((_elem(dtype) * group.rows * group.cols for group in layer.weights if group.dtype not in (None, *PLAIN)), default=0)
    if not rules.gathers or not model.form.merges_experts:
        return 0
    names = ("gate_proj.weight", "up_proj.weight")
    return sum(group.run_bytes(dtype) for group in layer.weights if group.role == "expert" and group.name.endswith(names))


def _elem(dtype: str) -> int:
    return DTYPES[dtype].block_bytes if dtype in PLAIN else DTYPES["bfloat16"].block_bytes
