"""From flags to settings: SGLang's defaults for this model, this hardware and this version."""

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.server_command import ENTRY
from kvplan.core.serving_types import Types, computed
from kvplan.core.splitting import widest
from kvplan.core.told import Told
from kvplan.engines.sglang.defaults import Asked, card_mib, chosen, fraction
from kvplan.engines.sglang.rules import Rules, rules_for
from kvplan.engines.sglang.settings import Settings

_TYPES = Types("SGLang", ("float16", "bfloat16", "float32"), usual="bfloat16", hint="--quantization fp8")
_SPARSE_PAGE = 64
_BLACKWELL = 10  # major compute capability
_KV = {"auto": "", "bf16": "bfloat16", "bfloat16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
_KV_PACKED = {"fp4_e2m1": "float4_e2m1", "nvfp4": "float4_e2m1", "mxfp8": "float8_e4m3fn"}
_STATES = ("float32", "bfloat16", "float16")
PACKED = {"float4_e2m1": 16}
"""Elements that share a scale of one byte. Source: sglang 0.5.23 srt/model_executor/pool_configurator.py, _compute_cell_size."""


def resolve(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Raises RequestError for values that no SGLang takes."""
    told, (rules, _) = Told(parsed.flags), rules_for(version)
    spread = told.number("dp-size", 1)
    attention_dp = spread if told.on("enable-dp-attention") else 1
    dp, pp = (1 if attention_dp > 1 else spread), told.number("pp-size", 1)
    tp = _tp(told, model, max(1, len(node.gpus)) // (pp * dp))
    if pp > model.n_layers:
        raise RequestError("bad_setting", f"pp-size={pp}: the model has {model.n_layers} layers to share out")
    if tp % attention_dp:
        raise RequestError(
            "contradiction", f"dp-size={attention_dp} does not divide tp-size={tp}", hint="with --enable-dp-attention it must"
        )
    card = card_mib(node)
    row = chosen(rules, card, tp)
    chunk = told.number("chunked-prefill-size", row.chunk_tokens)
    chunk = chunk // attention_dp if chunk > 0 else -1
    graphs = told.number("cuda-graph-max-bs-decode", told.number("cuda-graph-max-bs", row.largest_batch))
    drafts = told.word("speculative-algorithm")
    share = told.share("mem-fraction-static")
    asked = Asked(tp, pp, attention_dp, chunk, graphs, drafts)
    running = computed(told.chosen("dtype"), model, _TYPES)
    return Settings(
        version=version,
        model=parsed.model or model.id,
        context_length=_tokens(told, "context-length"),
        dtype=running,
        quantization=told.word("quantization") or model.quantization,
        kv_cache_dtype=_kv(told, model, node, rules) or running,
        mem_fraction_static=fraction(rules, card, asked, model) if share is None else share,
        tp=tp,
        pp=pp,
        dp=dp,
        attention_dp=attention_dp,
        max_running_requests=told.count("max-running-requests"),
        max_total_tokens=_tokens(told, "max-total-tokens"),
        chunked_prefill_size=chunk,
        graph_batches=0 if told.on("disable-cuda-graph") else graphs,
        page_size=told.number("page-size", _SPARSE_PAGE if _sparse(model) else 1),
        radix_cache=not told.on("disable-radix-cache"),
        swa_per_mille=_per_mille(told, "swa-full-tokens-ratio", 800),
        windows=not told.on("disable-hybrid-swa-memory"),
        mamba_per_mille=_per_mille(told, "mamba-full-memory-ratio", 900),
        mamba_slots=told.count("max-mamba-cache-size"),
        mamba_ssm_dtype=_states_dtype(told),
        speculative=drafts,
        overwrites_length=told.on("longer-context"),
        overrides=parsed.overrides,
    )


def _tp(told: Told, model: ModelSpec, free: int) -> int:
    """As said; where neither a command nor --tp speaks, the largest that works."""
    said = told.count("tp-size")
    if said is not None:
        return said
    return 1 if ENTRY in told else widest(model, free)


def _tokens(told: Told, name: str) -> int | None:
    """Raises RequestError for less than one."""
    said = told.count(name)
    if said is not None and said < 1:
        raise RequestError("bad_setting", f"sglang: --{name}: expected a number of tokens over 0, found '{said}'")
    return said


def _states_dtype(told: Told) -> str | None:
    """The type of the states. Raises RequestError for one that SGLang keeps none in."""
    said = told.word("mamba-ssm-dtype")
    if said is not None and said not in _STATES:
        raise RequestError(
            "bad_setting", f"mamba-ssm-dtype={said}: SGLang keeps no states in it", hint=f"it keeps them in {', '.join(_STATES)}"
        )
    return said


def _kv(told: Told, model: ModelSpec, node: Node, rules: Rules) -> str:
    """The type of the cache by kvplan's name, nothing where it is the model's. Raises RequestError for one that SGLang has not."""
    said = told.word("kv-cache-dtype") or "auto"
    known = _KV | _KV_PACKED
    if said not in known and said in known.values():
        return said
    if said not in known:
        choices = ", ".join(known)
        raise RequestError("bad_setting", f"kv-cache-dtype={said}: SGLang keeps no such cache", hint=f"it keeps {choices}")
    major = node.gpus[0].compute_capability if node.gpus else None
    if said == "auto" and rules.fp8_sparse and _sparse(model) and major is not None and major[0] >= _BLACKWELL:
        return "float8_e4m3fn"
    if said == "auto" and (model.kv_dtype or "").startswith("fp8"):
        return "float8_e4m3fn"
    return known[said]


def _sparse(model: ModelSpec) -> bool:
    return any(mixer.kind == "mla" and mixer.indexer is not None for run in model.runs for mixer in run.layer.mixers)


def _per_mille(told: Told, name: str, default: int) -> int:
    """A ratio in thousandths. Raises RequestError for what is no number over 0."""
    said = told.word(name)
    if said is None:
        return default
    try:
        found = round(float(said) * 1000)
    except (ValueError, OverflowError):
        found = 0
    if found < 1:
        raise RequestError("bad_setting", f"sglang: --{name}: expected a ratio over 0, found '{said}'")
    return found
