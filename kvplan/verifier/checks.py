"""What is looked at before a run: can it be made, and does it fit?"""

import importlib.util

from kvplan.core.device import UNKNOWN_NODE, Node
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.units import format_size
from kvplan.estimator import Estimate, Options
from kvplan.hardware import catalog, host, presence
from kvplan.verifier.run import Tier

_RUNS_ON: dict[Tier, str] = {"cuda": "the first attached GPU", "cpu": "this processor", "trace": "no hardware at all"}


def tier(asked: Tier | None, *, loads: bool = False) -> Tier:
    """The tier that is asked for, else the attached GPU, else a trace, or the processor where a checkpoint is to be loaded."""
    if asked is not None:
        return asked
    without: Tier = "cpu" if loads else "trace"
    if not presence.driver():
        return without
    from kvplan.hardware import probe

    return without if probe.attached() is None else "cuda"


def check_device(options: Options, tier: Tier) -> None:
    """Raises RequestError where the options name hardware: the run decides that; but a trace is of any one GPU of the catalogue."""
    if tier == "trace" and options.gpu not in (None, "local", "none") and options.budget is None:
        pretended(options)
        return
    named = options.budget or (options.gpu if options.gpu != "local" or tier == "trace" else None)
    if named is not None or options.gpus not in (None, "1"):
        found = f"verify runs on {_RUNS_ON[tier]}, not on {named or f'{options.gpus} GPUs'}"
        raise RequestError("contradiction", found, hint="leave the hardware out")


def pretended(options: Options) -> Node:
    """The GPU whose path a trace takes, none where none is named. Raises RequestError for several, and for unknown ones."""
    if options.gpu is None:
        return UNKNOWN_NODE
    node = catalog.node(options.gpu)
    if len(node.gpus) != 1 or options.gpus not in (None, "1"):
        asked = f"{options.gpu}{f' --gpus {options.gpus}' if options.gpus else ''}"
        raise RequestError("contradiction", f"--gpu {asked}: a trace is of one GPU", hint="name one")
    return node


def plain_dtype(estimate: Estimate, options: Options) -> str | None:
    """The type in which random weights of the same shapes are made, where those of the model are quantized and no type is asked for."""
    is_open = options.dtype in (None, "auto") and estimate.engine == "transformers" and estimate.model.quantization is not None
    return str(estimate.settings["compute_dtype"]) if is_open else None


def check_settings(estimate: Estimate) -> Estimate:
    """The estimate itself, if a run can be made of it."""
    settings, reason = estimate.settings, None
    hint = "leave these options out; `kvplan estimate` answers without a run"
    stored = estimate.model.quantization or settings["dtype"]
    if estimate.engine != "transformers":
        reason = f"verify runs Transformers, not {estimate.engine}"
    elif settings["cache"] not in ("dynamic", "static"):
        reason = f"verify has no {settings['cache']} cache"
    elif settings["device_map"] or settings["tp_size"] != 1:
        reason = "verify runs one process on one device: nothing is split"
    elif stored != settings["compute_dtype"]:
        reason = f"verify runs models in the plain types of torch, not {stored}"
        hint = f"--dtype {settings['compute_dtype']} runs the same shapes; `kvplan estimate` answers without a run"
    elif settings["kv_dtype"] != settings["dtype"]:
        reason = f"Transformers fills the cache in the type of the weights ({settings['dtype']}), not in {settings['kv_dtype']}"
    if reason:
        raise RequestError("unsupported", reason, hint=hint)
    return estimate


def check_layers(estimate: Estimate, most: int | None) -> None:
    """Raises RequestError for a model that has more layers than it should have been cut to."""
    if most is not None and estimate.model.n_layers > most:
        found = f"--layers {most}: the config does not say how many layers there are, where they are looked for"
        raise RequestError("unsupported", found, hint="write num_hidden_layers into a copy of it, or leave --layers out")


def missing() -> list[str]:
    """What is not installed of what a run needs."""
    return [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]


def need_torch() -> None:
    """Raises UnavailableError with the command that installs what is missing."""
    absent = missing()
    if absent:
        raise UnavailableError("torch_missing", f"not installed: {', '.join(absent)}", hint="pip install 'kvplan[verify]'")


def guard(estimate: Estimate, tier: Tier) -> int | None:
    """Bytes that are free. Raises UnavailableError unless even the upper bound of the estimate fits in them. A trace takes none."""
    if tier == "trace":
        return None
    ram = host.memory() if tier == "cpu" else None
    free = estimate.fullest.place.usable_bytes if tier == "cuda" else ram.available_bytes if ram else None
    where = estimate.node.gpus[0].name if tier == "cuda" else "this machine"
    needed = estimate.fullest.needed.high
    if free is None:
        raise UnavailableError("memory_unknown", f"{where} does not tell how much memory is free", hint="verify on another machine")
    if needed > free:
        hint = "lower --ctx or --batch, or cut the model with --layers"
        raise UnavailableError(
            "too_large", f"the run needs up to {format_size(needed)}, {format_size(free)} are free on {where}", hint=hint
        )
    return free
