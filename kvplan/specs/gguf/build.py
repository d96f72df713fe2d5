"""From a GGUF header to a ModelSpec: keys say what each layer keeps, the tensor table what it weighs."""

from itertools import groupby

from kvplan import _discover
from kvplan.core.forms import ActivationForm
from kvplan.core.model import Layer, LayerRun, ModelSpec
from kvplan.specs.gguf.checks import check_block, checked_vocab
from kvplan.specs.gguf.feeds import read_feeds
from kvplan.specs.gguf.file_types import quantization
from kvplan.specs.gguf.header import Header
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.likeness import ARCHS, plan_by_likeness
from kvplan.specs.gguf.plan import Mixing, Plan
from kvplan.specs.gguf.weights import Block, commonest, divided, of_block, outside

_STATES = ("mamba1", "mamba2", "gated_delta", "linear", "short_conv", "rwkv")


def build(header: Header, where: str) -> ModelSpec:
    """The ModelSpec of a GGUF header; ``where`` names the file in errors.

    Parameters and bytes are those of all tensors in the file, as llama.cpp counts them: the weights of next-token layers
    are among ``weights``, and ``mtp`` says what such layers keep but not what they weigh. ``model_type`` is
    general.architecture. Raises RequestError for missing or contradictory keys, for tensors that contradict them, and
    for an architecture that is not known and not plainly an ordinary decoder.
    """
    keys = Keys(header, where)
    module = _discover.claimant(ARCHS, "GGUF_ARCHS", keys.arch)
    plan: Plan = module.plan(keys) if module else plan_by_likeness(keys)
    blocks, rest = divided(keys, plan)
    stored = commonest(header.tensors)
    layers = [_layer(keys, i, mixing, blocks[i], stored) for i, mixing in enumerate(plan.layers)]
    _check_experts(keys, layers)
    return ModelSpec(
        architecture=keys.arch,
        model_type=keys.arch,
        hidden_size=keys.hidden,
        vocab_size=checked_vocab(keys),
        runs=tuple(LayerRun(len(list(same)), layer) for layer, same in groupby(layers)),
        weights=outside(rest, stored),
        stored_dtype=stored,
        max_ctx_tokens=keys.integer("context_length"),
        form=ActivationForm(rotary_dim=keys.integer("rope.dimension_count", default=0, least=0) or None),
        mtp=_next_token(keys, plan),
        quantization=quantization(header),
        exact=module is not None,
        caveats=plan.caveats,
        source="gguf",
    )


def _layer(keys: Keys, i: int, mixing: Mixing, block: Block, stored: str) -> Layer:
    check_block(keys, mixing, block)
    recurrent = bool(mixing.mixers) and all(mixer.kind in _STATES for mixer in mixing.mixers)
    return Layer(mixing.mixers, read_feeds(keys, i, block), of_block(block, stored, recurrent=recurrent), mixing.kv_source)


def _next_token(keys: Keys, plan: Plan) -> tuple[LayerRun, ...]:
    layer = Layer(plan.next_token.mixers, (), ())
    return (LayerRun(keys.n_next_token, layer),) if keys.n_next_token and layer.mixers else ()


def _check_experts(keys: Keys, layers: list[Layer]) -> None:
    n_experts = keys.integer("expert_count", default=0, least=0)
    if n_experts > 1 and not any(ffn.kind == "moe" for layer in layers for ffn in layer.ffns):
        raise keys.error("expert_count", f"{n_experts} experts, but no layer has tensors for them")
