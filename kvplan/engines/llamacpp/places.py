"""Which devices a command names, and what it says to put on them.

Source: llama.cpp b11434 common/arg.cpp, src/llama.cpp, src/llama-model.cpp.
"""

import re
from typing import get_args

from kvplan.core.device import Node
from kvplan.core.errors import RequestError
from kvplan.engines.llamacpp.patterns import expression
from kvplan.engines.llamacpp.said import Said
from kvplan.engines.llamacpp.settings import AUTO_LAYERS, Override, Settings, SplitMode

_SPLITS: dict[str, SplitMode] = {mode: mode for mode in get_args(SplitMode)}


def placed(settings: Settings, said: Said, node: Node) -> Settings:
    """Which device holds what. Unsplit it is one, or with a negative -mg none. Source: llama.cpp b11434 src/llama.cpp."""
    mode, main = said.word("split-mode") or "layer", said.number("main-gpu", 0)
    names = said.parts("device") if "device" in said else None
    devices = _devices(names, len(node.gpus))
    return settings._replace(
        n_gpu_layers=said.number("n-gpu-layers", AUTO_LAYERS),
        devices=devices[main : max(0, main + 1)] if mode == "none" else devices,
        device_names=names,
        split_mode=_SPLITS[mode],
        tensor_split=_shares(said),
        main_gpu=main,
        override_tensors=tuple(map(_override, said.every("override-tensor"))),
        cpu_moe=said.switch("cpu-moe", default=False),
        n_cpu_moe=said.number("n-cpu-moe", 0),
        n_cpu_ffn=said.number("n-cpu-ffn", 0),
    )


def _shares(said: Said) -> tuple[float, ...]:
    """What -ts says; nothing but zeros is as good as nothing. Source: llama.cpp b11434 src/llama-model.cpp, all_zero."""
    shares = tuple(float(part) for part in said.parts("tensor-split"))
    return shares if any(shares) else ()


def _override(pair: str) -> Override:
    """PATTERN=BUFFER. Raises RequestError where the pattern is no regular expression."""
    pattern, _, buffer = pair.partition("=")
    try:
        expression(pattern)
    except re.error as problem:
        raise RequestError(
            "bad_setting", f"-ot {pair}: no regular expression: {problem}", hint=r"-ot 'blk\.\d+\.ffn_.*_exps=CPU'"
        ) from None
    return Override(pattern, buffer)


def _devices(names: tuple[str, ...] | None, n_gpus: int) -> tuple[int, ...]:
    """Indices of the devices that -dev names: CUDA1, Vulkan0, Metal; all where it is not said."""
    if names is None:
        return tuple(range(n_gpus))
    return tuple(i for i in (device_index(name) for name in names) if i is not None and i < n_gpus)


def device_index(name: str) -> int | None:
    """The number behind a backend's name, 0 where it has none; None for ``none`` and processors."""
    found = re.fullmatch(r"([A-Za-z_]+)(\d{0,3})", name, re.ASCII)
    return None if found is None or found[1].lower() in ("none", "cpu") else int(found[2] or 0)


def is_buffer(name: str, n_gpus: int) -> bool:
    """Whether ``-ot`` can name this buffer type: the host's, or that of a device that is there."""
    found = re.fullmatch(r"(CUDA|ROCm|MUSA|Vulkan|SYCL|MTL|Metal|OpenCL|GPUOpenCL|CANN|HTP|OPENVINO)(\d{0,3})", name, re.ASCII)
    return name == "CPU" or name.startswith(("RPC", "CUDA_Host")) or (found is not None and int(found[2] or 0) < n_gpus)
