"""From flags to settings: TensorRT-LLM's defaults for this model and this hardware."""

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.server_command import ENTRY
from kvplan.core.serving_types import Types, computed, kept
from kvplan.core.splitting import widest
from kvplan.core.told import Told
from kvplan.engines.tensorrt_llm.rules import rules_for
from kvplan.engines.tensorrt_llm.settings import KV_FLAG, Settings

_TYPES = Types("TensorRT-LLM", ("float16", "bfloat16", "float32"), usual="bfloat16")
_FRACTION = 0.9
_CAPTURED = 128  # the largest batch of the default graphs


def resolve(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Raises RequestError for values that no TensorRT-LLM takes."""
    told, (rules, _) = Told(parsed.flags), rules_for(version)
    pp = told.number("pp-size", 1)
    if pp > model.n_layers:
        raise RequestError("bad_setting", f"pp-size={pp}: the model has {model.n_layers} layers to share out")
    batch, running = told.number("max-batch-size", rules.max_batch_size), computed(told.chosen("dtype"), model, _TYPES)
    return Settings(
        version=version,
        model=parsed.model or model.id,
        backend=told.word("backend") or "pytorch",
        dtype=running,
        kv_cache_dtype=_kv(told, model) or running,
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
    return 1 if ENTRY in told else widest(model, free)


def _kv(told: Told, model: ModelSpec) -> str:
    """The type of the cache; where nobody says it, that which a quantized checkpoint asks for."""
    said = told.chosen("kv-cache-dtype")
    if said is None:
        return "float8_e4m3fn" if (model.kv_dtype or "").startswith("fp8") else ""
    return kept(said, KV_FLAG, _TYPES.title)
