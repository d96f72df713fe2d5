"""A running server's Prometheus metrics, and the estimate beside them where the model and the card are known."""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.explainer import asked
from kvplan.explainer.measure import Measure
from kvplan.explainer.predicted import Served, predicted

_SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{([^}]*)\})?\s+(\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_MOST_BYTES = 8 * 2**20
_TIMEOUT_S = 10
UNTOLD = Served()
_BOUNDED = ("_bucket", "_created")


class Metrics(NamedTuple):
    """What a server says of itself; the estimate's tokens in the pool and figures where it could be made,
    and notes."""

    engine: str
    model: str | None
    measures: tuple[Measure, ...]
    pool_tokens: int | None
    estimated_pool_tokens: int | None
    estimated: tuple[Measure, ...]
    notes: tuple[str, ...]


_VLLM = {
    "kv_cache_usage_perc": ("cache in use", "share"),
    "gpu_cache_usage_perc": ("cache in use", "share"),
    "num_requests_running": ("running", "requests"),
    "num_requests_waiting": ("waiting", "requests"),
    "num_preemptions_total": ("preemptions", "since start"),
    "prompt_tokens_total": ("prompt tokens", "since start"),
    "generation_tokens_total": ("generated tokens", "since start"),
}
"""vllm 0.19.0 v1/metrics/loggers.py, PrometheusStatLogger; gpu_cache_usage_perc up to 0.10."""
_LLAMA = {
    "kv_cache_usage_ratio": ("cache in use", "share"),
    "kv_cache_tokens": ("cached", "tokens"),
    "requests_processing": ("running", "requests"),
    "requests_deferred": ("waiting", "requests"),
    "prompt_tokens_seconds": ("prompt", "tokens/s"),
    "predicted_tokens_seconds": ("generation", "tokens/s"),
    "prompt_tokens_total": ("prompt tokens", "since start"),
    "tokens_predicted_total": ("generated tokens", "since start"),
    "n_busy_slots_per_decode": ("busy slots", "a decode step"),
}
"""llama.cpp b11434 tools/server/server-context.cpp, get_metrics."""
_OF = {"vllm": _VLLM, "llamacpp": _LLAMA}
_CALLED = {"vllm": "vllm", "llamacpp": "llama.cpp"}


def fetched(url: str, served: Served = UNTOLD) -> Metrics:
    """What the server at ``url`` says of itself.

    Raises RequestError for an address that is none, or metrics of no known server; UnavailableError where nobody answers; any
    KvplanError for a command that can't be estimated.
    """
    asked.check(served.model, served.gpu)
    return of_text(_body(url), served)


def _body(url: str) -> str:
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, build_opener

    if not url.startswith(("http://", "https://")):
        raise RequestError(
            "bad_url", f"--url {url}: expected an address that begins with http://", hint="--url http://localhost:8000/metrics"
        )
    try:
        with build_opener().open(Request(url), timeout=_TIMEOUT_S) as reply:
            return str(reply.read(_MOST_BYTES).decode("utf-8", "replace"))
    except (URLError, OSError, ValueError) as problem:
        reason = problem if isinstance(problem, HTTPError) else getattr(problem, "reason", problem)
        if isinstance(problem, HTTPError):
            problem.close()
        raise UnavailableError(
            "no_metrics", f"{url}: {reason}", hint="vLLM serves /metrics beside its API; llama-server does with --metrics"
        ) from None


def of_text(text: str, served: Served = UNTOLD) -> Metrics:
    """What a scrape says, in Prometheus' text format. Raises RequestError where it is of no known server."""
    samples: dict[str, float] = {}
    labels: dict[str, Mapping[str, str]] = {}
    for line in text.splitlines():
        found = _SAMPLE.match(line)
        if found is None or found[1].endswith(_BOUNDED):
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if not math.isfinite(value):  # as servers print what they have not counted yet
            continue
        samples[found[1]] = samples.get(found[1], 0.0) + value
        labels.setdefault(found[1], dict(_LABEL.findall(found[2] or "")))
    engine = next((name for name in _OF if any(sample.startswith(f"{name}:") for sample in samples)), None)
    if engine is None:
        raise RequestError("no_metrics", "metrics of neither vLLM nor llama-server", hint="--url http://localhost:8000/metrics")
    named = next((found["model_name"] for found in labels.values() if "model_name" in found), None)
    measures = [
        Measure(label, samples[f"{engine}:{key}"], unit) for key, (label, unit) in _OF[engine].items() if f"{engine}:{key}" in samples
    ]
    measures += _rates(samples)
    info = labels.get("vllm:cache_config_info", {})
    running = next((measure.value for measure in measures if measure.label == "running"), 0.0)
    beside = predicted(engine, served if served.command else served._replace(model=served.model or named), info, running)
    return Metrics(
        _CALLED[engine], served.model or named, tuple(measures), _pool(info), beside.pool_tokens, beside.measures, _notes(measures)
    )


def _rates(samples: Mapping[str, float]) -> list[Measure]:
    """How often a prefix was found in the cache, and how fast one sequence grows."""
    rates = []
    for engine_of in ("vllm:prefix_cache", "vllm:gpu_prefix_cache"):
        asked = samples.get(f"{engine_of}_queries_total")
        if asked:
            rates.append(Measure("prefix cache hit rate", samples.get(f"{engine_of}_hits_total", 0) / asked, "share"))
    for name in ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"):
        spent, made = samples.get(f"{name}_sum"), samples.get(f"{name}_count")
        if spent and made:
            return [*rates, Measure("generation of one sequence", made / spent, "tokens/s")]
    return rates


def _pool(info: Mapping[str, str]) -> int | None:
    """Tokens in the pool, from the labels of vLLM's cache_config_info."""
    blocks, size = info.get("num_gpu_blocks", ""), info.get("block_size", "")
    return int(blocks) * int(size) if blocks.isdigit() and size.isdigit() else None


def _notes(measures: list[Measure]) -> tuple[str, ...]:
    """What the figures mean, where they mean trouble."""
    by_label = {measure.label: measure.value for measure in measures}
    notes = []
    if by_label.get("preemptions"):
        notes.append("sequences were dropped and computed again: see kvplan explain KV613")
    if by_label.get("cache in use", 0) > 0.9 and by_label.get("waiting"):
        notes.append("the cache is full and requests wait: fewer sequences at once, or more memory for it")
    return tuple(notes)
