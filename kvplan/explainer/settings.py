"""The settings that a log shows, under the engine's own names: what the user said, what a command line shows, what was resolved."""

import re
from collections.abc import Iterator, Mapping

_DICT = re.compile(r"'(\w+)': ('[^']*'|\"[^\"]*\"|[^,{}]+)")
_CALL = re.compile(r"(?<![\w.])(\w+)=('[^']*'|\"[^\"]*\"|[^,\s()]+)")
_FLAG = re.compile(r"(?:^|\s)--?([a-z][\w-]*)(?:[ =](?!-)(\"[^\"]*\"|\S+))?")
_RESOLVED = {"max_seq_len": "max_model_len", "model_path": "model"}
_SHAPED = ("args", "namespace", "config", "cmd", "error", "error_class")
_OWN = frozenset(
    (
        "model",
        "max_model_len",
        "gpu_memory_utilization",
        "tensor_parallel_size",
        "pipeline_parallel_size",
        "data_parallel_size",
        "kv_cache_dtype",
        "enforce_eager",
        "max_num_seqs",
        "max_num_batched_tokens",
        "dtype",
        "quantization",
        "block_size",
        "enable_prefix_caching",
        "load_format",
        "decode_context_parallel_size",
        "enable_expert_parallel",
        "cpu_offload_gb",
        "swap_space",
        *("tp_size", "pp_size", "dp_size", "mem_fraction_static", "context_length", "max_running_requests", "max_total_tokens"),
        *("chunked_prefill_size", "page_size", "disable_cuda_graph", "disable_radix_cache", "enable_dp_attention"),
    )
)
_LLAMA = {
    "n_ctx": "n_ctx",
    "ctx-size": "n_ctx",
    "c": "n_ctx",
    "batch-size": "n_batch",
    "b": "n_batch",
    "ubatch-size": "n_ubatch",
    "ub": "n_ubatch",
    "parallel": "n_seq_max",
    "np": "n_seq_max",
    "model": "model",
    "m": "model",
    "n-gpu-layers": "n_gpu_layers",
    "ngl": "n_gpu_layers",
    "cache-type-k": "type_k",
    "ctk": "type_k",
    "cache-type-v": "type_v",
    "ctv": "type_v",
    "flash-attn": "flash_attn",
    "fa": "flash_attn",
}


def settled(shown: Mapping[str, str]) -> dict[str, str]:
    """One value for each setting: figures of single lines last, as they are what the engine came to."""
    found: dict[str, str] = {}
    for source in ("config", "namespace", "args", "cmd"):
        found.update(_pairs(source, shown.get(source, "")))
    found.update({name: value for name, value in shown.items() if name not in _SHAPED})
    if re.fullmatch(r"\d+\.\d{6}", utilization := found.get("gpu_memory_utilization", "")):
        found["gpu_memory_utilization"] = f"{float(utilization):g}"
    if found.get("max_model_len"):
        found["max_model_len"] = found["max_model_len"].replace(",", "")
    return found


def _pairs(source: str, text: str) -> Iterator[tuple[str, str]]:
    if source == "cmd":
        pairs = ((_LLAMA.get(name, ""), value or "true") for name, value in _FLAG.findall(text))
    else:
        pattern = _DICT if source == "args" and "': " in text else _CALL
        pairs = ((_RESOLVED.get(name, name), value) for name, value in pattern.findall(text))
    for name, value in pairs:
        plain = value.strip(" '\"").removeprefix("torch.")
        if name and plain not in ("None", "") and (source == "cmd" or name in _OWN):
            yield name, plain
