"""What the user should know of the model and of the hardware, whatever the engine."""

from collections.abc import Mapping

from kvplan.core.device import Node
from kvplan.core.engine import Capacity, Deployment
from kvplan.core.ledger import Finding, Fix
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.estimator import inverse
from kvplan.estimator.nodes import n_devices
from kvplan.estimator.options import Options


def of_node(node: Node) -> tuple[Finding, ...]:
    """How an ambiguous name of a GPU was read."""
    return tuple(Finding("KV203", "note", note) for note in node.notes)


def of_split(options: Options, node: Node, shown: Mapping[str, object]) -> tuple[Finding, ...]:
    """Over how many of several cards the model is split, where nobody said it, and cards that stay idle."""
    n_gpus, used = len(node.gpus), n_devices(shown)
    if n_gpus < 2 or "tp" not in shown:
        return ()
    found = []
    if not options.command and options.tp is None:
        message = f"--tp was not said: of {n_gpus} GPUs, {shown['tp']} share each layer, as many as this model can be split over"
        found.append(Finding("KV212", "note", message))
    if used < n_gpus:
        found.append(Finding("KV213", "note", f"{n_gpus - used} of {n_gpus} GPUs stay idle: these settings use {used}"))
    return tuple(found)


def of_pool(engine: str, deployment: Deployment, node: Node, load: Workload, capacity: Capacity | None) -> tuple[Finding, ...]:
    """What an engine that starts does with more sequences than its pool of blocks holds."""
    if capacity is None or capacity.n_blocks is None or not node.gpus or deployment.refusals:
        return ()
    certain = capacity.max_batch or 0
    at_once = load.batch if certain >= load.batch else inverse.at_once(deployment, node, load)
    if not 0 < at_once < load.batch:
        return ()
    message = (
        f"the pool holds about {at_once:,} of {load.batch:,} sequences of {load.ctx_tokens:,} tokens ({certain:,} for certain): "
        f"{engine} does not run out of memory, it lets the others wait; when running ones outgrow the pool it drops the newest and "
        "computes it again"
    )
    return (Finding("KV325", "warning", message, "fewer sequences at once, a shorter context, a cache in fewer bits, or more memory"),)


def of_model(model: ModelSpec, cache_bytes: int) -> tuple[Finding, ...]:
    """The loader's caveats, and a cache that the model's files turn off."""
    caveats = tuple(Finding(caveat.rule, caveat.level, caveat.message, caveat.hint) for caveat in model.caveats)
    return (*caveats, *_odd_heads(model), *_cache_off(model, cache_bytes))


def _odd_heads(model: ModelSpec) -> tuple[Finding, ...]:
    """Rotation turns channels in pairs: such a model can be built and counted, and its first forward pass fails."""
    width = model.form.rotary_dim
    heads = {mixer.head_dim for run in model.runs for mixer in run.layer.mixers if mixer.kind in ("full", "sliding", "chunked")}
    if width is None or width % 2 == 0 or width not in heads:
        return ()
    return (
        Finding(
            "KV204",
            "warning",
            f"heads of {width} channels can't be rotated in pairs: Transformers builds this model and fails to run it",
            "look at head_dim, hidden_size and num_attention_heads of the config: one of them is wrong",
        ),
    )


def _cache_off(model: ModelSpec, cache_bytes: int) -> tuple[Finding, ...]:
    """Fine-tuned checkpoints often carry the setting of their training: each token then recomputes all before it."""
    if model.use_cache_off_in is None:
        return ()
    return (
        Finding(
            "KV202",
            "warning",
            f"{model.use_cache_off_in} says use_cache: false: generation would keep no cache and run the whole prefix again for each token",
            "pass use_cache=True to generate(), or fix the file; the estimate counts the cache",
            (Fix("use_cache", "false", "true", cache_bytes),),
        ),
    )
