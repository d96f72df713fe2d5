"""Where Transformers puts the modules of small models: writes tests/data/placements/device_map.jsonl and tensor_parallel.jsonl.

``python tests/bench/placements.py device_map`` splits each model on the meta device for several max_memory.
``torchrun --nproc-per-node 2 tests/bench/placements.py tensor_parallel`` loads each with tp_size=2 on CPUs, over gloo, and adds up what
each process holds. Needs torch, transformers and accelerate.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import transformers
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.distributed.configuration_utils import DistributedConfig
from transformers.integrations.accelerate import _get_device_map

DATA = Path(__file__).parents[1] / "data"
SPLIT = (
    *("llama", "qwen2", "qwen3", "mistral", "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3", "gpt2", "gpt_neox", "gpt_oss", "gemma2"),
    *("gemma3_text", "phi", "phi3", "opt", "bloom", "falcon", "olmo2", "glm4", "stablelm", "mamba2", "jamba", "lfm2", "granitemoehybrid"),
    *("starcoder2", "nemotron_h", "modernbert-decoder"),
)
TOWERED = (
    *("gemma-3-27b", "qwen2.5-vl-7b", "qwen3-vl-32b", "qwen3-vl-235b-a22b", "qwen3.5-9b", "qwen3.5-35b-a3b", "mistral-small-3.1"),
    *("llava-1.5-7b", "llama-4-scout", "llama-3.2-11b-vision"),
)
"""Built-in models at their published sizes: towers of a toy would be larger than its layers."""
SHARDED = (
    *("llama", "mixtral", "deepseek_v3", "phi3", "gpt_neox", "gemma2", "glm4", "deepseek_v2", "olmo2", "qwen3", "gpt2", "starcoder2"),
    *("qwen3_next", "gpt_oss", "phi", "granitemoe"),
)
ODD = {
    **{"model_type": "llama", "vocab_size": 103, "hidden_size": 64, "intermediate_size": 91, "num_hidden_layers": 2},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "dtype": "bfloat16"},
}
TORN = {**ODD, "num_key_value_heads": 1}


def main(what: str) -> None:
    """Write one of the two files."""
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    if what == "device_map":
        from importlib.metadata import version

        small = ({"config": config, **_placed(config)} for config in _configs(SPLIT))
        large = ({"model": name, **_placed(_published(name))} for name in TOWERED)
        _write(what, {**versions, "accelerate": version("accelerate")}, (*small, *large))
    else:
        dist.init_process_group("gloo")
        rows = [_loaded(config) for config in (*_configs(SHARDED), ODD, TORN)]
        if dist.get_rank() == 0:
            _write(what, {**versions, "tp_size": dist.get_world_size()}, rows)


def _configs(families: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The first causal model of each family among the cases of the family tests."""
    known = [case["config"] for path in sorted((DATA / "families").glob("*.json")) for case in json.loads(path.read_text())]
    for family in families:
        yield next(
            config
            for config in known
            if config["model_type"] == family and config.get("architectures", ["CausalLM"])[0].endswith(("CausalLM", "LMHeadModel"))
        )


def _published(name: str) -> dict[str, Any]:
    """The config of a built-in model."""
    text = (Path(__file__).parents[2] / "model_specs" / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text.partition("\nconfig: ")[2].lstrip())[0]
    return {key: value for key, value in found.items() if key not in ("torch_dtype", "quantization_config")}


def _write(name: str, head: Mapping[str, Any], rows: Any) -> None:
    text = "".join(json.dumps(row) + "\n" for row in (head, *rows))
    path = DATA / "placements" / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _config(said: Mapping[str, Any]) -> Any:
    return AutoConfig.for_model(**{key: value for key, value in said.items() if key not in ("dtype", "architectures")})


def _placed(said: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes on each device, buffers included, for several budgets."""
    with torch.device("meta"):
        built = getattr(transformers, said["architectures"][0]) if "architectures" in said else AutoModelForCausalLM
        make = built._from_config if "architectures" in said else built.from_config
        model = make(_config(said), dtype=getattr(torch, said.get("dtype") or "bfloat16"))
    tensors = {
        name: tensor.numel() * tensor.element_size()
        for name, tensor in (*model.named_parameters(), *model.named_buffers())
        if name not in model.all_tied_weights_keys
    }
    all_bytes = sum(tensors.values())
    rows: list[Any] = []
    for how, limits in _budgets(all_bytes):
        found = _get_device_map(model, how, dict(limits), None)
        held: dict[str, int] = {}
        for name, size in tensors.items():
            device = str(found[next(part for part in _above(name) if part in found)])
            held[device] = held.get(device, 0) + size
        rows.append([how, {str(device): limit for device, limit in limits.items()}, held])
    return {"bytes": all_bytes, "rows": rows}


def _budgets(size: int) -> Iterator[tuple[str, dict[int | str, int]]]:
    """Two equal GPUs; a small one and a host; one after the other; one with the host; three, the first kept free; one, host and disk."""
    yield "auto", {0: size, 1: size}
    yield "auto", {0: size * 2 // 5, 1: size, "cpu": 2 * size}
    yield "sequential", {0: size * 3 // 5, 1: size * 3 // 10, "cpu": 4 * size}
    yield "auto", {0: size * 7 // 10, "cpu": 4 * size}
    yield "balanced_low_0", {0: size, 1: size, 2: size}
    yield "auto", {0: size // 2, "cpu": size * 2 // 5}
    yield "balanced", {0: size // 4, 1: size // 3, 2: size // 3, "cpu": size}


def _above(name: str) -> Iterator[str]:
    yield name
    while name:
        name = name.rpartition(".")[0]
        yield name


def _loaded(said: Mapping[str, Any]) -> dict[str, Any]:
    """Bytes of the parameters of each process, and what it raises."""
    found: list[str] = [tempfile.mkdtemp()]
    dist.broadcast_object_list(found)
    if dist.get_rank() == 0:
        AutoModelForCausalLM.from_config(_config(said), dtype=torch.bfloat16).save_pretrained(found[0])
    dist.barrier()
    mine: dict[str, Any] = {}
    try:
        model = AutoModelForCausalLM.from_pretrained(
            found[0], dtype=torch.bfloat16, distributed_config=DistributedConfig(tp_size=dist.get_world_size())
        )
        own = {id(parameter): parameter for parameter in model.parameters()}.values()
        local = [parameter.to_local() if hasattr(parameter, "to_local") else parameter for parameter in own]
        mine["bytes"] = sum(tensor.numel() * tensor.element_size() for tensor in local)
        with torch.no_grad():
            model(torch.ones(1, 1, dtype=torch.long))
    except (RuntimeError, ValueError) as error:
        mine["error"] = f"{type(error).__name__}: {error}"
    ranks: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, mine)
    return {"config": said, "ranks": ranks}


if __name__ == "__main__":
    main(sys.argv[1])
