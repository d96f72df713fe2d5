"""The cache as the answer shows it: groups of equal layers, bytes per token, what the mathematics keeps."""

from kvplan.core.ledger import KvGroup, KvPlan
from kvplan.core.mixers import Mixer
from kvplan.core.model import ModelSpec
from kvplan.core.workload import Workload
from kvplan.engines.vllm.cache import Cache
from kvplan.engines.vllm.content import head_bytes
from kvplan.engines.vllm.pages import Form, latent_bytes
from kvplan.engines.vllm.slots import Slot
from kvplan.engines.vllm.states import state_bytes


def kv_plan(model: ModelSpec, cache: Cache, load: Workload, stage: int, dtype: str) -> KvPlan:
    """The cache of one rank of ``stage`` for this workload; ``reserved`` are whole blocks of every group, with those in flight and the
    null block.

    ``dtype`` is the model's type, which is the cache's where that has none of its own.
    """
    members = [member for group in cache.pool.groups for member in group.members if member.stage == stage]
    tokens = [member.slot for member in members if member.slot.kind not in ("state", "block_state", "cross")]
    name = dtype if cache.form.kv_dtype == "auto" else cache.form.kv_dtype
    reserved = cache.pool.held_blocks(load.ctx_tokens, load.batch).best * cache.pool.block_bytes[stage]
    ideal, longer = (_ideal(model, cache.form, n) for n in (load.ctx_tokens, load.ctx_tokens + 1))
    return KvPlan(
        k_dtype=name,
        v_dtype=name,
        bytes_per_token=sum(slot.page_bytes // slot.block_tokens for slot in tokens),
        marginal_bytes_per_token=max(0, longer - ideal),
        state_bytes_per_sequence=sum(member.slot.page_bytes * member.slot.n_states for member in members),
        ideal_bytes=min(reserved, load.batch * ideal),
        reserved_bytes=reserved,
        groups=_groups([member.slot for member in members]),
    )


def _groups(slots: list[Slot]) -> tuple[KvGroup, ...]:
    counts: dict[tuple[str, int | None, int], int] = {}
    for slot in slots:
        kind = "recurrent" if "state" in slot.kind else slot.kind
        per_token = 0 if "state" in slot.kind else slot.page_bytes // slot.block_tokens
        key = (kind, slot.window_tokens or None, per_token)
        counts[key] = counts.get(key, 0) + 1
    return tuple(KvGroup(kind, n_layers, window, cost) for (kind, window, cost), n_layers in counts.items())


def _ideal(model: ModelSpec, form: Form, n_tokens: int) -> int:
    """Bytes that one sequence must keep in this type on one rank, whatever the blocks; every stage counted."""
    return sum(
        run.n_layers * _kept(mixer, form, n_tokens) for run in model.runs if run.layer.kv_source is None for mixer in run.layer.mixers
    )


def _kept(mixer: Mixer, form: Form, n_tokens: int) -> int:
    match mixer.kind:
        case "full" | "sliding" | "chunked":
            heads = max(1, mixer.n_kv_heads // form.tp)
            return mixer.kept_tokens(n_tokens) * heads * head_bytes(form.kv_dtype, mixer.head_dim, mixer.v_head_dim, form.elem_bytes)
        case "mla":
            return mixer.kept_tokens(n_tokens) * latent_bytes(mixer.elems_per_token, form) + mixer.indexer_elems(n_tokens)
        case "compressed":
            return mixer.kept_tokens(n_tokens) * mixer.elems_per_token * form.elem_bytes
        case "cross":
            return mixer.elems_per_sequence * form.elem_bytes // form.tp
        case _:
            return state_bytes(mixer, form.tp, form.state)
