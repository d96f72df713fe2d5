"""From flags to settings: TensorRT-LLM's defaults for this model and this hardware."""

from kvplan.core.device import Node
from kvplan.core.dtypes import dtype
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.server_command import ENTRY
from kvplan.core.splitting import divides
from kvplan.core.told import Told
from kvplan.engines.tensorrt_llm.rules import rules_for
from kvplan.engines.tensorrt_llm.settings import KV_FLAG, Settings

_FRACTION = 0.9
_CAPTURED = 128  # the largest batch of the default graphs


def resolve(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Raises RequestError for values that no TensorRT-LLM takes."""
    told, (rules, _) = Told(parsed.flags), rules_for(version)
    pp = told.number("pp-size", 1)
    if pp > model.n_layers:
        raise RequestError("bad_setting", f"pp-size={pp}: the model has {model.n_layers} layers to share out")
    batch, kept_as = told.number("max-batch-size", rules.max_batch_size), _dtype(told, model)
    return Settings(
        version=version,
        model=parsed.model or model.id,
        backend=told.word("backend") or "pytorch",
        dtype=kept_as,
        kv_cache_dtype=_kv(told, model) or kept_as,
        tp=_tp(told, model, max(1, len(node.gpus)) // pp),
        pp=pp,
        attention_dp=told.on("enable-attention-dp"),
        max_seq_len=told.count("max-seq-len"),
        max_batch_size=batch,
        max_num_tokens=told.number("max-num-tokens", rules.max_num_tokens),
        max_beam_width=told.number("max-beam-width", 1),
        free_gpu_memory_fraction=told.share("free-gpu-memory-fraction") or _FRACTION,
        max_tokens=told.count("max-tokens"),
        tokens_per_block=told.number("tokens-per-block", rules.tokens_per_block),
        graph_batches=told.number("cuda-graph-max-batch-size", min(_CAPTURED, batch)),
    )


def _tp(told: Told, model: ModelSpec, free: int) -> int:
    """As said; where neither a command nor --tp speaks, the largest that works."""
    said = told.count("tp-size")
    if said is not None:
        return said
    return 1 if ENTRY in told else next(ways for ways in range(max(1, free), 0, -1) if divides(model, ways))


def _dtype(told: Told, model: ModelSpec) -> str:
    said = told.word("dtype")
    if said is None or said == "auto":
        return model.stored_dtype if model.stored_dtype in ("float16", "bfloat16") else "bfloat16"
    named = dtype(said, where="dtype").name
    if named not in ("float16", "bfloat16", "float32"):
        raise RequestError("bad_setting", f"dtype={said}: TensorRT-LLM runs in float16, bfloat16 or float32")
    return named


def _kv(told: Told, model: ModelSpec) -> str:
    """The type of the cache; where nobody says it, that which a quantized checkpoint asks for."""
    said = told.word("kv-cache-dtype") or "auto"
    if said == "auto":
        return "float8_e4m3fn" if (model.kv_dtype or "").startswith("fp8") else ""
    found = {flag: name for name, flag in KV_FLAG.items()} | {name: name for name in KV_FLAG}
    named = found.get(said) or found.get(dtype(said, where="kv-cache-dtype").name)
    if named is None:
        raise RequestError("bad_setting", f"kv-cache-dtype={said}: TensorRT-LLM keeps no such cache", hint="it keeps auto, fp8, nvfp4")
    return named
