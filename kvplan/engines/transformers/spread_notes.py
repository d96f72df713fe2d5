"""What the user should know of a split model."""

from collections.abc import Sequence
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.ledger import Finding, NotModeled, Refusal
from kvplan.core.model import ModelSpec
from kvplan.core.units import format_size
from kvplan.engines.transformers.modules import REST, Module
from kvplan.engines.transformers.settings import Settings

RESAVED = (
    "ValueError: The current `device_map` had weights offloaded to the disk, which needed to be re-saved. This is either because the "
    "weights are not in `safetensors` format, or because the model uses an internal weight format different than the one saved (i.e. most "
    "MoE models). Please provide an `offload_folder` for them in `from_pretrained`."
)
"""Source: transformers 5.24 integrations/accelerate.py, offload_weight."""


class Away(NamedTuple):
    """Modules whose weights wait on the host and on disk; ``known`` is False where the order of modules was not compared."""

    host: Sequence[Module]
    disk: Sequence[Module]
    known: bool


def named(modules: Sequence[Module]) -> str:
    """The modules in few words: ``embed_tokens, layers 0 to 15``."""
    found: list[str] = []
    layers: list[int] = []
    for module in modules:
        if module.layer is None:
            found += [word for word in (_span(layers), _plain(module.name)) if word and word not in found]
            layers = []
        else:
            layers.append(module.layer)
    return ", ".join([*found, *([_span(layers)] if layers else [])]) or "nothing"


def _span(layers: list[int]) -> str:
    if not layers:
        return ""
    return f"layer {layers[0]}" if len(layers) == 1 else f"layers {layers[0]} to {layers[-1]}"


def _plain(path: str) -> str:
    parts = path.split(".")
    return REST if REST in parts else parts[-1]


def refusals(model: ModelSpec, away: Away) -> tuple[Refusal, ...]:
    """Merged experts can't be read from the files again: they are written to a folder, which nobody named."""
    mixture = any(ffn.kind == "moe" for run in model.runs for ffn in run.layer.ffns)
    merged = mixture and model.form.merges_experts and any(module.layer is not None for module in away.disk)
    return (Refusal("KV347", "load", RESAVED),) if merged else ()


def findings(node: Node, settings: Settings, away: Away) -> tuple[Finding, ...]:
    """How the model is split, and what of it has to come back in each pass."""
    found = []
    if len(node.gpus) > 1:
        found.append(
            Finding(
                "KV305",
                "note",
                f"device_map={settings.device_map} puts layers on {len(node.gpus)} GPUs, which work one after the other: "
                "memory adds up, speed does not",
                "--tp N shares each layer, where the family has a tp_plan; --device-map none counts one GPU",
            )
        )
    if away.host or away.disk:
        found.append(_streams(away))
    if away.host and node.ram_bytes is None:
        found.append(
            Finding("KV346", "note", "nobody said how large the host's memory is: what the GPUs can't take is put there", "add --ram SIZE")
        )
    if not away.known:
        found.append(
            Finding(
                "KV344",
                "note",
                "nobody compared the order of this family's modules with Transformers': the split may be off by a few of them",
                "hf_device_map of the loaded model says where they are; max_memory moves them",
            )
        )
    return tuple(found)


def _streams(away: Away) -> Finding:
    parts = [(away.host, "the host"), (away.disk, "disk")]
    words = " and ".join(
        f"{format_size(sum(m.held for m in modules))} on {where} ({named(modules)})" for modules, where in parts if modules
    )
    hint = "a larger GPU, a second one, or weights in fewer bits keep it all on GPUs"
    return Finding("KV343", "warning", f"weights that the GPUs can't take wait elsewhere and pass through in every step: {words}", hint)


def not_modeled(away: Away) -> tuple[NotModeled, ...]:
    """What a host with weights on it takes besides."""
    if not away.host:
        return ()
    return (NotModeled("host_process", "what Python, PyTorch and CUDA's libraries take of the host beside the weights"),)
