"""From flags to settings: the launcher's defaults for this model, this hardware and this version."""

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.server_command import ENTRY
from kvplan.core.serving_types import Types, computed, kept
from kvplan.core.splitting import widest
from kvplan.core.told import Told
from kvplan.engines.tgi.rules import rules_for
from kvplan.engines.tgi.settings import KV_FLAG, Settings

_TYPES = Types("TGI", ("float16", "bfloat16"), usual="float16", hint="--quantize fp8")
_PREFILL = 4096
_ROOM = 50  # tokens by which a prefill may be longer than an input, where the input's length follows from a default
_GRAPHS = (1, 2, 4, 8, 16, 32)
_WITHOUT_GRAPHS = ("bitsandbytes", "exl2")
_METHODS = (
    *("awq", "compressed-tensors", "eetq", "exl2", "gptq", "marlin", "bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4", "fp8"),
)


def resolve(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Raises RequestError for values that no launcher takes.

    Source: text-generation-inference 3.3.7 launcher/src/main.rs, main and find_num_shards.
    """
    told, (rules, _) = Told(parsed.flags), rules_for(version)
    usual = None if rules.total_tokens is None else min(rules.total_tokens, model.max_ctx_tokens or rules.total_tokens)
    total = told.count("max-total-tokens") or usual
    inputs = told.count("max-input-tokens") or (usual - 1 if usual else None)
    prefill = min(_PREFILL, model.max_ctx_tokens or _PREFILL) if inputs is None or rules.total_tokens is None else inputs + _ROOM
    running = computed(told.word("dtype"), model, _TYPES)
    cached = told.chosen("kv-cache-dtype")
    return Settings(
        version=version,
        model=parsed.model or model.id,
        dtype=running,
        quantization=_quantization(told, model),
        kv_cache_dtype=running if cached is None else kept(cached, KV_FLAG, _TYPES.title),
        num_shard=_shards(told, model, max(1, len(node.gpus))),
        cuda_memory_fraction=told.share("cuda-memory-fraction") or 1.0,
        max_input_tokens=inputs,
        max_total_tokens=total,
        max_batch_prefill_tokens=told.number("max-batch-prefill-tokens", prefill),
        max_batch_size=told.count("max-batch-size"),
        max_concurrent_requests=told.number("max-concurrent-requests", 128),
        cuda_graphs=_graphs(told),
    )


def _shards(told: Told, model: ModelSpec, n_devices: int) -> int:
    """As said; else all GPUs there are, with kvplan's own options as many as the model can be split over."""
    said = told.count("num-shard")
    if said is not None or told.word("sharded") == "false":
        return said or 1
    return n_devices if ENTRY in told else widest(model, n_devices)


def _quantization(told: Told, model: ModelSpec) -> str | None:
    said = told.word("quantize")
    if said is not None and said not in _METHODS:
        raise RequestError("bad_setting", f"tgi: --quantize: invalid value '{said}'", hint=f"possible values: {', '.join(_METHODS)}")
    return said or (model.quantization if model.quantization in _METHODS else None)


def _graphs(told: Told) -> tuple[int, ...]:
    """Captured batches. Raises RequestError for what is no list of numbers."""
    said = told.word("cuda-graphs")
    if said is None:
        return () if told.word("quantize") in _WITHOUT_GRAPHS else _GRAPHS
    parts = [part.strip() for part in said.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise RequestError("bad_setting", f"tgi: --cuda-graphs: expected numbers with commas, found '{said}'")
    return tuple(int(part) for part in parts if int(part))
