"""From flags to settings: llama.cpp's defaults for this build, this model and this machine.

Source: llama.cpp b11434 common/common.h, common/arg.cpp, tools/server/server.cpp; older builds: rules.py.
"""

from typing import NamedTuple, get_args

from kvplan.core.device import Node
from kvplan.core.engine import Parsed
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import ModelSpec
from kvplan.core.remembered import Remembered
from kvplan.core.workload import Workload
from kvplan.engines.llamacpp.command import APP
from kvplan.engines.llamacpp.flags import CACHE_TYPES, SHORT_TYPES
from kvplan.engines.llamacpp.places import placed
from kvplan.engines.llamacpp.rules import Rules, canonical, rules_for
from kvplan.engines.llamacpp.said import Said
from kvplan.engines.llamacpp.settings import AUTO_LAYERS, App, Drafting, Isa, LoadMode, Settings

KV_TYPES = "kv-types"
"""kvplan's --kv-dtype: one type, or those of K and V parted by a slash."""
_ISAS: dict[str, Isa] = {isa: isa for isa in get_args(Isa)}
_APPS: dict[str, App] = {app: app for app in get_args(App)}
_MODES: dict[str, LoadMode] = {mode: mode for mode in get_args(LoadMode)}
AUTO_SLOTS = 4
_MOST_TOKENS = 2**31 - 1


def resolve(parsed: Parsed, load: Workload, model: ModelSpec, node: Node, version: str) -> Settings:
    """Every setting that bears on memory. Without a command there is a slot for each sequence, and the context is what all need.

    Raises RequestError for a build that is not modeled and for options of kvplan that mean nothing to llama.cpp.
    """
    at = _known.get(model, (parsed, node, version), lambda: _base(parsed, model, node, version))
    if APP in at.said:
        return at.settings
    n_parallel, unified = _for_load(load.batch, at.rules)
    return at.settings._replace(n_ctx=load.ctx_tokens * load.batch, n_parallel=n_parallel, kv_unified=unified)


class _Base(NamedTuple):
    """What was said, and the settings; without a command all but the context and the slots."""

    said: Said
    rules: Rules
    settings: Settings


_known: Remembered[_Base] = Remembered(64)


def _base(parsed: Parsed, model: ModelSpec, node: Node, version: str) -> _Base:
    said, rules = Said(parsed.flags), rules_for(version)[0]
    app = _APPS.get(said.word(APP) or "", "server")
    n_parallel, unified = slots(said, app, rules)
    type_k, type_v = _cache_types(said)
    settings = Settings(
        version=canonical(version),
        model=parsed.model or model.id,
        app=app,
        n_ctx=_context(said, n_parallel, model, rules) if APP in said else 0,
        n_parallel=n_parallel,
        kv_unified=unified,
        n_batch=_batch(said),
        n_ubatch=_tokens(said, "ubatch-size", 512),
        type_k=type_k,
        type_v=type_v,
        swa_full=said.switch("swa-full", default=False),
        offload_kqv=said.switch("kv-offload", default=True),
        op_offload=said.switch("op-offload", default=True),
        pinned_host=not said.switch("no-host", default=False),
        repack=said.switch("repack", default=True),
        load_mode=_load_mode(said, rules),
        host=_ISAS.get(node.isa or "", "x86-avx2"),
        embeddings=said.switch("embeddings", default=False) or said.switch("reranking", default=False),
        drafting=_drafting(said, parsed.draft, rules),
    )
    return _Base(said, rules, _served(placed(_attention(settings, said), said, node), said, rules))


def slots(said: Said, app: App, rules: Rules) -> tuple[int, bool]:
    """Sequences at once, and whether they share one cache. Source: llama.cpp b11434 tools/server/server.cpp: auto is 4 and shares."""
    asked, unified = said.number("parallel", -1), said.switch("kv-unified", default=False)
    if app == "server" and rules.auto_slots and (asked < 0 or (rules.one_slot_is_auto and asked == 1 and not unified)):
        return AUTO_SLOTS, True
    return max(1, asked), unified


def _for_load(batch: int, rules: Rules) -> tuple[int, bool]:
    """Builds that take one slot for unsaid have four that share."""
    return (AUTO_SLOTS, True) if rules.one_slot_is_auto and batch == 1 else (batch, False)


def _context(said: Said, n_parallel: int, model: ModelSpec, rules: Rules) -> int:
    """What -c says; a 0 that --fit must not shrink is the trained context by its number."""
    asked, per_slot = said.number("ctx-size", rules.default_ctx), said.number("kv-unified-per-slot", 0)
    if asked < 0:
        raise RequestError("bad_setting", f"-c {asked}: llama.cpp would read it as {asked % 2**32} tokens", hint="0 is the trained context")
    if asked == 0 and per_slot > 0:
        return n_parallel * per_slot
    if asked == 0 and "ctx-size" in said and rules.fit and not rules.fits_zero:
        return model.max_ctx_tokens or 0
    return asked


def _tokens(said: Said, name: str, default: int) -> int:
    """A number of tokens; a negative one is read as unsigned: more than any context has."""
    asked = said.number(name, default)
    return asked if asked >= 0 else _MOST_TOKENS


def _batch(said: Said) -> int:
    """Tokens of a batch. Raises RequestError for none."""
    asked = _tokens(said, "batch-size", 2048)
    if not asked:
        raise RequestError("bad_setting", "-b 0: llama.cpp takes no steps of no tokens", hint="2048 is its default")
    return asked


def _cache_types(said: Said) -> tuple[str, str]:
    """Raises RequestError for a --kv-dtype that llama.cpp keeps no cache in."""
    asked = said.word(KV_TYPES)
    if asked is None or asked == "auto":
        return said.word("cache-type-k") or "f16", said.word("cache-type-v") or "f16"
    both = asked.lower().split("/")
    types = [SHORT_TYPES.get(name, name) for name in both]
    wrong = next((name for name in types if name not in CACHE_TYPES), None)
    if wrong is not None or len(types) > 2:
        hint = did_you_mean(wrong or "", CACHE_TYPES) or f"it keeps {', '.join(CACHE_TYPES)}; K and V apart as q8_0/f16"
        raise RequestError("bad_setting", f"--kv-dtype {asked}: llama.cpp keeps no such cache", hint=hint)
    return types[0], types[-1]


def _load_mode(said: Said, rules: Rules) -> LoadMode:
    """Two switches in older builds; later every mention decides alone, also of flags that are gone, as what they meant.

    Source: llama.cpp PR 20834, PR 26135 (mlock without mapping).
    """
    mentions = said.among("load-mode", "mmap", "mlock", "direct-io")
    if rules.load_mode == "flags":
        mapped, locked = said.switch("mmap", default=True), said.switch("mlock", default=False)
        return ("mmap+mlock" if mapped else "mlock") if locked else ("mmap" if mapped else "none")
    mode: LoadMode = rules.default_load_mode
    for flag in mentions:
        on = flag.value == "true"
        old: dict[str, LoadMode] = {"mmap": "mmap" if on else "none", "mlock": "mlock", "direct-io": "dio" if on else mode}
        mode = old.get(flag.name) or _MODES[flag.value]
    return mode


def _drafting(said: Said, draft: str | None, rules: Rules) -> Drafting | None:
    """Kinds that draft without a model (ngram-…) take no memory worth the name; a draft model alone is draft-simple."""
    kinds = tuple(kind for kind in said.parts("spec-type") if kind.startswith("draft-"))
    if not kinds and draft is None:
        return None
    return Drafting(
        kinds or ("draft-simple",),
        n_max=max(0, said.number("spec-draft-n-max", said.number("draft-max", rules.draft_tokens))),
        model=draft,
        type_k=said.word("spec-draft-type-k") or "f16",
        type_v=said.word("spec-draft-type-v") or "f16",
        n_gpu_layers=said.number("spec-draft-ngl", AUTO_LAYERS),
    )


def _attention(settings: Settings, said: Said) -> Settings:
    """Embeddings need each prompt in one step. Source: llama.cpp b11434 tools/server/server.cpp, n_batch of embeddings."""
    asked = said.word("flash-attn")
    settings = settings._replace(flash_attn="on" if asked == "on" else "off" if asked == "off" else "auto")
    if settings.embeddings and settings.app == "server":
        settings = settings._replace(n_batch=min(settings.n_batch, settings.n_ubatch))
    return settings


def _served(settings: Settings, said: Said, rules: Rules) -> Settings:
    """What a server keeps beside the model, and how --fit may change what was not said."""
    served = settings.app in ("server", "cli")
    return settings._replace(
        lora=(*said.every("lora"), *(part.rpartition(":")[0] or part for part in said.every("lora-scaled"))),
        mmproj=(said.word("mmproj") or said.word("mmproj-url")) if said.switch("mmproj-auto", default=True) or "mmproj" in said else None,
        mmproj_offload=said.switch("mmproj-offload", default=True),
        cache_ram_mib=said.number("cache-ram", rules.cache_ram_mib) if served and rules.cache_ram_mib else 0,
        ctx_checkpoints=max(0, said.number("ctx-checkpoints", rules.checkpoints)) if served else 0,
        checkpoint_min_step=said.number("checkpoint-min-step", rules.checkpoint_step),
        slot_save_path=said.word("slot-save-path"),
        fit=rules.fit and settings.app != "bench" and said.word("fit") != "off",
        fit_target_mib=(tuple(int(part) for part in said.parts("fit-target")) if rules.fit else ()) or (1024,),
        fit_ctx=_tokens(said, "fit-ctx", 4096) if rules.fit else 4096,
    )
