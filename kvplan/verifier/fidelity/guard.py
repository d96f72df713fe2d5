"""Whether a run fits in what is free, and in which type it computes."""

from kvplan.core.dtypes import DTYPES
from kvplan.core.errors import RequestError, UnavailableError
from kvplan.core.model import ModelSpec
from kvplan.core.units import format_size
from kvplan.hardware import host, probe
from kvplan.verifier.fidelity.asked import PIECE, Job
from kvplan.verifier.fidelity.sizes import Head
from kvplan.verifier.run import Tier

TYPES = ("float32", "float16", "bfloat16")
_LIVE_LOGITS = 4  # of a piece: the logits, their logarithms and the reference's, and the probabilities
_CHARS_A_TOKEN = 2  # of few texts fewer
_ROOM = 1.2  # for activations, which are small beside these


def dtype(asked: str | None, model: ModelSpec, tier: Tier) -> str:
    """What the model computes in. Raises RequestError for a type in which none does."""
    if asked in (None, "auto"):
        stored = model.stored_dtype if model.stored_dtype in TYPES else "bfloat16"
        return "float32" if tier == "cpu" else stored
    found = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}.get(asked or "", asked or "")
    if found not in TYPES:
        raise RequestError("unsupported", f"--dtype {asked}: quality computes in {', '.join(TYPES)}", hint="leave --dtype out")
    return found


def check(job: Job, model: ModelSpec, found: tuple[Head, ...]) -> None:
    """Raises UnavailableError where weights, caches and logits of the longest sample do not fit in what is free."""
    elem_bytes, n = DTYPES[job.dtype].block_bytes, 1 + len(job.variants)
    longest = max(len(one.prompt) // _CHARS_A_TOKEN + job.n_new for one in job.samples)
    cache = 2 * elem_bytes * longest * sum(head.n * (head.k_dim + head.v_dim) for head in found)  # and a copy while it grows
    logits = _LIVE_LOGITS * 4 * PIECE * model.vocab_size
    needed = int(_ROOM * (elem_bytes * model.n_params + n * (cache + logits)))
    free, where = _free(job.device)
    if free is not None and needed > free:
        message = f"{n} caches at once need about {format_size(needed)}, {format_size(free)} are free on {where}"
        raise UnavailableError("too_large", message, hint="fewer --kv-dtype at once, shorter samples, or --dtype bf16")


def _free(device: str) -> tuple[int | None, str]:
    if device == "cuda":
        node = probe.attached()
        return (node.places()[0].usable_bytes if node else None), "the first attached GPU"
    ram = host.memory()
    return (ram.available_bytes if ram else None), "this machine"
