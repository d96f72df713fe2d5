"""How a run uses several devices: ``device_map`` splits the model, ``tp_size`` splits each layer.

Source: transformers 5.24 modeling_utils.py (from_pretrained), distributed/configuration_utils.py.
"""

from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.device import Node
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count

SPLIT = ("auto", "balanced", "balanced_low_0", "sequential")
"""Values of device_map that split a model; ``auto`` is ``balanced``."""

WHOLE = "none"
"""kvplan's own word for no device_map: all of the model on the first GPU."""

DEFAULTS = {"device_map": "", "max_memory": "", "tp_size": "1"}


class Several(NamedTuple):
    """``device_map`` is empty where nothing is split over devices; ``devices`` are the GPUs in use."""

    device_map: str
    max_memory: str
    tp_size: int
    devices: int


def several(chosen: Mapping[str, str], model_type: str, node: Node) -> Several:
    """What was said; over several GPUs without a word, ``device_map=auto``.

    Raises RequestError for another device_map, a max_memory that can't be read, more processes than GPUs, or a family of which nobody
    entered what they shard.
    """
    said, n_gpus = chosen["device_map"], len(node.gpus)
    if said not in ("", WHOLE, *SPLIT):
        known = (*SPLIT, WHOLE)
        raise RequestError("bad_setting", f"device_map: expected one of {', '.join(known)}, found '{said}'", hint=did_you_mean(said, known))
    tp = parse_count(chosen["tp_size"], option="tp_size")
    if tp > n_gpus > 0:
        count = f"there {'is' if n_gpus == 1 else 'are'} {n_gpus}"
        hint = f"name them: --gpu {node.gpus[0].id}:{tp}"
        raise RequestError("contradiction", f"tp_size={tp}: a process needs a GPU of its own, and {count}", hint=hint)
    if tp > 1:
        _check_plan(model_type)
    limits = chosen["max_memory"]
    if limits:
        from kvplan.engines.transformers.budget import read  # a cold estimate counts milliseconds

        read(limits, n_gpus or None)
    if limits and said == WHOLE:
        raise RequestError("contradiction", "max_memory says how a device_map splits, and there is none", hint="leave one of them out")
    split = "" if said == WHOLE else said or ("auto" if limits or (n_gpus > 1 and tp == 1) else "")
    return Several(split, chosen["max_memory"], tp, tp if tp > 1 else max(1, n_gpus) if split else 1)


def _check_plan(model_type: str) -> None:
    from kvplan.engines.transformers.tp_plans import WITHOUT, tp_plan

    if tp_plan(model_type) is None and model_type not in WITHOUT:
        hint = "its base_model_tp_plan is in its configuration class; --device-map auto splits by layers"
        raise RequestError("not_modeled", f"tp_size: what Transformers shards of '{model_type}' is not modeled", hint=hint)


def words(found: Several) -> tuple[str, ...]:
    """The same as keyword arguments."""
    limits = (f"max_memory={found.max_memory}",) if found.max_memory else ()
    return (f"device_map={found.device_map or WHOLE}", *limits, f"tp_size={found.tp_size}")
