"""The cache of a model under given settings: its block, its pages, its groups, its pool."""

import math
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from kvplan.core.dtypes import DTYPES
from kvplan.core.mixers import Mixer
from kvplan.core.model import LayerRun, ModelSpec
from kvplan.core.sharding import heads_per_rank
from kvplan.core.stages import stage_of
from kvplan.core.units import ceil_to
from kvplan.engines.vllm import states
from kvplan.engines.vllm.backends import DATA_CENTER_BLACKWELL, DEFAULT_BLOCK, HOPPER, Kernel, Traits, kernel, traits
from kvplan.engines.vllm.classes import CACHE_AS_MODEL, FP8_ON_BLACKWELL
from kvplan.engines.vllm.content import TURBOQUANT, head_bytes
from kvplan.engines.vllm.demand import Demand
from kvplan.engines.vllm.drafting import next_layers, retained_tokens
from kvplan.engines.vllm.groups import CannotUnify, Group, group
from kvplan.engines.vllm.pages import Form, Placed, draft_slots, latent_bytes, slots
from kvplan.engines.vllm.pool import Pool, pool
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings

LATENT_HYBRID_BLOCK = 128  # blocks of latents beside states are multiples of it
_BOUNDARY = 2  # first and last layers that packed caches leave as they are


class Cache(NamedTuple):
    """``kernel`` is None where no kernel takes this cache, ``problem`` what keeps the layers from sharing a pool."""

    traits: Traits
    kernel: Kernel | None
    form: Form
    pool: Pool
    problem: str | None = None


def cache(model: ModelSpec, settings: Settings, rules: Rules, capability: tuple[int, int] | None) -> Cache:
    """The cache of ``model`` and its drafter."""
    found = traits(model)
    settings = settings._replace(kv_cache_dtype=resolved_dtype(model, settings, rules, capability))
    chosen = kernel(found, settings.kv_cache_dtype, capability, settings.block_size, settings.attention_backend)
    grid = _grid(model, capability) if rules.exports_states else None
    forced = _forced(rules, capability)
    form = _form(model, settings, found, chosen, grid, forced=forced)
    members = _members(model, settings, form)
    groups: tuple[Group, ...] = ()
    problem = None
    try:
        groups = group(members, hybrid_manager=settings.hybrid_manager, ratio=rules.group_ratio, side_by_side=found.compressed)
    except CannotUnify as reason:
        problem = str(reason)
    retained = retained_tokens(model, settings.speculative) if rules.retains_for_drafts else 0
    demand = Demand(in_flight_tokens(settings, rules), settings.max_num_batched_tokens, settings.dcp, retained)
    return Cache(found, chosen, form, pool(groups, settings.pp, demand, rules), problem)


def resolved_dtype(model: ModelSpec, settings: Settings, rules: Rules, capability: tuple[int, int] | None) -> str:
    """The type of the cache; ``auto`` is what the checkpoint asks for, or its class, else the model's own."""
    if model.architecture in CACHE_AS_MODEL:
        return "auto"
    if settings.kv_cache_dtype != "auto" or model.kv_dtype:
        return settings.kv_cache_dtype if settings.kv_cache_dtype != "auto" else model.kv_dtype or "auto"
    blackwell = rules.fp8_on_blackwell and (capability or HOPPER)[0] == DATA_CENTER_BLACKWELL
    if blackwell and model.architecture in FP8_ON_BLACKWELL:
        return "fp8_e4m3"
    found = traits(model) if rules.packs_sparse else None
    return "fp8_ds_mla" if found and found.latent and found.sparse else "auto"


def in_flight_tokens(settings: Settings, rules: Rules) -> int:
    """Tokens that may be scheduled and not yet settled: those of each batch at work.

    Source: vllm 0.33 config/vllm.py, max_concurrent_batches and max_in_flight_tokens; before 0.26 one batch.
    """
    if not rules.reserves_in_flight:
        return settings.max_num_batched_tokens
    batches = settings.pp
    if settings.async_scheduling and (settings.v2_runner or settings.pp == 1):
        batches += 1
    return batches * settings.max_num_batched_tokens


def _forced(rules: Rules, capability: tuple[int, int] | None) -> int:
    """What blocks of latents must be multiples of in this version, 0 where the kernel decides."""
    major = (capability or HOPPER)[0]
    return dict(zip((HOPPER[0], DATA_CENTER_BLACKWELL), rules.latent_blocks, strict=True)).get(major, 0)


def _grid(model: ModelSpec, capability: tuple[int, int] | None) -> int | None:
    """Where all states can be exported inside a prefill, None where some can't be."""
    found = [states.checkpoint_tokens(mixer, capability) for mixer in _state_mixers(model)]
    known = [tokens for tokens in found if tokens is not None]
    return math.lcm(*known) if found and len(known) == len(found) else None


def _state_mixers(model: ModelSpec) -> list[Mixer]:
    keeping = ("mamba1", "mamba2", "gated_delta", "linear", "short_conv")
    return [mixer for run in model.runs for mixer in run.layer.mixers if mixer.kind in keeping]


def _form(model: ModelSpec, settings: Settings, found: Traits, chosen: Kernel | None, grid: int | None, *, forced: int = 0) -> Form:
    """The form of all pages, aligned where states lie beside attention; the settings' type of the cache is resolved."""
    block = settings.block_size or (chosen.block_tokens if chosen else DEFAULT_BLOCK)
    block = ceil_to(block, forced) if forced and found.latent else block
    elem = DTYPES[settings.dtype].block_bytes
    aligned = settings.mamba_cache_mode == "align"
    drafted = settings.speculative.n_tokens if settings.speculative else 0
    state = states.StateForm(
        conv_dtype=settings.dtype if settings.mamba_cache_dtype == "auto" else settings.mamba_cache_dtype,
        ssm_dtype=settings.mamba_ssm_cache_dtype,
        n_drafted=drafted,
        n_blocks=(2 if aligned else 1) + drafted + (1 if aligned and grid else 0),
        every_block=settings.mamba_cache_mode == "all",
        block_tokens=settings.max_model_len,
    )
    packed = chosen is not None and chosen.packed
    form = Form(settings.tp, block, settings.kv_cache_dtype, elem, state, sparse_packed=packed, windows=settings.sliding_window)
    if found.hybrid:
        return _aligned(model, form, found, chosen, grid if aligned else None)
    if form.kv_dtype in TURBOQUANT:
        return _bounded(model, form)
    return form


def _aligned(model: ModelSpec, form: Form, found: Traits, chosen: Kernel | None, grid: int | None) -> Form:
    """The form of a hybrid: attention pages that hold a state, states padded to them."""
    state = max((states.state_bytes(mixer, form.tp, form.state) for mixer in _state_mixers(model)), default=0)
    if not state:
        return form
    token = next(_token_bytes(model, form))
    kernel_tokens = chosen.step if chosen else DEFAULT_BLOCK
    least = max(form.block_tokens, LATENT_HYBRID_BLOCK) if found.latent else form.block_tokens
    grid = states.SCAN_CHUNK if form.state.every_block else grid or 1
    block = max(form.block_tokens, states.aligned_block(least, kernel_tokens, grid, state, token))
    return form._replace(block_tokens=block, state=form.state._replace(block_tokens=block), state_page_bytes=block * token)


def _token_bytes(model: ModelSpec, form: Form) -> Iterator[int]:
    """Bytes of one token in each attention layer of a rank."""
    for mixer in chain.from_iterable(run.layer.mixers for run in model.runs):  # pragma: no branch - a hybrid has attention
        if mixer.kind == "mla":
            yield latent_bytes(mixer.elems_per_token, form)
        elif mixer.kind in ("full", "sliding", "chunked"):
            content = head_bytes(form.kv_dtype, mixer.head_dim, mixer.v_head_dim, form.elem_bytes)
            yield heads_per_rank(mixer.n_kv_heads, form.tp) * content


def _bounded(model: ModelSpec, form: Form) -> Form:
    """A packed cache whose first and last layers keep the model's type; blocks grow until a packed page, counted
    at one byte an element, holds theirs.

    Source: vllm 0.33 engine/arg_utils.py, get_boundary_skip_layers; platforms/interface.py, _align_heterogeneous_kv_block_size.
    """
    n = min(_BOUNDARY, model.n_layers // 2)
    ends = frozenset((*range(n), *range(model.n_layers - n, model.n_layers)))
    return form._replace(block_tokens=ceil_to(form.block_tokens * form.elem_bytes, DEFAULT_BLOCK), unquantized=ends)


def _members(model: ModelSpec, settings: Settings, form: Form) -> list[Placed]:
    """Every slot with its stage: the model's layers, then the drafter's on the last stage."""
    stages = stage_of(model.n_layers, settings.pp, settings.layer_partition)
    members = [Placed(slot, stages[index]) for index, slot in slots(model, form)]
    runs = [(run.n_layers, run.layer) for run in drafter(model, settings)]
    return members + [Placed(slot, settings.pp - 1, draft=True) for slot in draft_slots(runs, form)]


def drafter(model: ModelSpec, settings: Settings) -> tuple[LayerRun, ...]:
    """The layers that draft: the model's own next-token layers, or another model's."""
    if settings.speculative is None:
        return ()
    if settings.speculative.model is not None:
        return model.draft.runs if model.draft else ()
    return next_layers(model) if settings.speculative.method == "mtp" else ()
