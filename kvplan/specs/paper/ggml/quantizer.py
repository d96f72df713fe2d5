"""A whole model in one of llama.cpp's file types.

Source: llama.cpp src/llama-quant.cpp at 007dbbf, llama_tensor_get_type; conversion/base.py prepare_tensors, which keeps
vectors, routers, convolutions and tables in float32.
"""

from collections.abc import Sequence

from kvplan.core.model import Layer, ModelSpec, WeightGroup
from kvplan.core.roles import TOWERS
from kvplan.specs.paper.ggml.mixes import EIGHT, TINY, Choices, Mix, Spot, chosen, fitting, mix_of
from kvplan.specs.paper.ggml.tensors import Place, facts_of, place_of
from kvplan.specs.parts.blocks import runs

_AS_CONVERTED = ("per_layer_model_proj", "altup", "laurel")
_FALCON = ("falcon", "RefinedWeb", "RefinedWebModel")
_EXPERTS_ALONE = "mxfp4_moe"
_NOWHERE = Spot(0, 1, 0, 0)


def packed(spec: ModelSpec, name: str) -> ModelSpec:
    """``spec`` in the file type ``name``: every group in a block type of its own; masks and tables stay out of such files."""
    quantizer = _Quantizer(spec, name)
    layers = quantizer.layers([*spec.layers(), *(run.layer for run in spec.mtp for _ in range(run.n_layers))])
    weights = tuple(quantizer.stored(group, _NOWHERE, _NOWHERE) for group in spec.weights if group.role != "scale")
    return spec._replace(weights=weights, runs=runs(layers[: spec.n_layers]), mtp=runs(layers[spec.n_layers :]))


class _Quantizer:
    def __init__(self, spec: ModelSpec, name: str) -> None:
        self._name, self._mix, self._facts = name, mix_of(name, falcon=spec.model_type in _FALCON), facts_of(spec)

    def layers(self, layers: Sequence[Layer]) -> list[Layer]:
        """Every layer; values count those with values, the feed-forward's projections those with any, or all beside experts."""
        facts, found = self._facts, []
        places = [{place_of(group, facts) for group in layer.weights} for layer in layers]
        n_values, i_value, i_block = sum("value" in held for held in places), 0, 0
        for index, (layer, held) in enumerate(zip(layers, places, strict=True)):
            value = Spot(i_value, n_values, facts.group, facts.n_experts)
            block = Spot(index if facts.n_experts > 1 else i_block, len(layers), facts.group, facts.n_experts)
            groups = tuple(self.stored(group, value, block) for group in layer.weights if group.role != "scale")
            found.append(layer._replace(weights=groups))
            i_value, i_block = i_value + ("value" in held), i_block + ("down" in held)
        return found

    def stored(self, group: WeightGroup, value: Spot, block: Spot) -> WeightGroup:
        """The group in its block type; ``value`` and ``block`` are its layer's place among those with such tensors."""
        place = place_of(group, self._facts)
        if group.role in TOWERS:
            dtype = "float16"  # in a file of their own, which nobody quantizes
        elif place is None or min(group.rows, group.cols) == 1:
            dtype = "float32"
        elif any(part in group.name for part in _AS_CONVERTED):
            dtype = "bfloat16"
        else:
            dtype = fitting(self._dtype(group, place, value if place == "value" else block), group.cols)
        return group._replace(dtype=dtype, run_dtype=None)

    def _dtype(self, group: WeightGroup, place: Place, spot: Spot) -> str:
        mix = self._mix
        if self._name == _EXPERTS_ALONE:
            return "mxfp4" if group.role == "expert" else mix.default
        if place == "head":
            return mix.head if fitting(mix.default, group.cols) == mix.default else "q8_0"
        if place == "embedding":
            return mix.embedding or mix.default
        if self._facts.n_experts == EIGHT and (known := _of_eight(mix, self._name, place)):
            return known
        choices: Choices = () if place == "other" else getattr(mix, place)
        found = chosen(choices, spot, mix.default)
        return "q5_k" if place == "value" and self._facts.is_70b and found in ("q3_k", "q4_k") else found


def _of_eight(mix: Mix, name: str, place: Place) -> str | None:
    """What attention gets in a model of eight experts, where it is small beside them."""
    if place == "out":
        return mix.eight or mix.default
    return "q8_0" if place in ("value", "key") and name not in TINY and mix.is_packed else None
