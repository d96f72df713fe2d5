"""From settings back to the command that gives them."""

import re
from collections.abc import Iterator

from kvplan.engines.llamacpp.resolve import AUTO_SLOTS
from kvplan.engines.llamacpp.rules import Rules, rules_for
from kvplan.engines.llamacpp.settings import ALL_LAYERS, AUTO_LAYERS, Settings

Words = Iterator[str]
_REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)(?::(.+))?", re.ASCII)
_PROGRAMS = {"server": "llama-server", "cli": "llama-cli", "completion": "llama-completion", "perplexity": "llama-perplexity"}


def command(settings: Settings) -> tuple[str, ...]:
    """The inverse of parse and resolve on the same machine; nothing where llama.cpp would do the same by itself.

    A benchmark's largest context is said as llama-bench takes it, Ollama's runner as the llama-server that it starts.
    """
    rules = rules_for(settings.version)[0]
    if settings.app == "bench":
        return ("llama-bench", *_model(settings.model), *_benchmark(settings))
    program = _PROGRAMS.get(settings.app, "llama-server")
    return (
        program,
        *_model(settings.model),
        *_sizes(settings, rules),
        *_placement(settings),
        *_memory(settings, rules),
        *_more(settings, rules),
    )


def _model(name: str) -> Words:
    """-hf for a repository, -m for everything else."""
    found = _REPOSITORY.fullmatch(name)
    if found is None or (found[2] is None and name.lower().endswith(".gguf")):
        yield from ("-m", name)
    elif found[2] and found[2].lower().endswith(".gguf"):
        yield from ("-hf", found[1], "-hff", found[2])
    else:
        yield from ("-hf", name)


def _unlike(pairs: tuple[tuple[str, object, object], ...]) -> Words:
    """Flags whose values differ from their defaults."""
    for flag, value, default in pairs:
        if value != default:
            yield from (flag, str(value))


def _on(pairs: tuple[tuple[str, bool], ...]) -> Words:
    yield from (flag for flag, on in pairs if on)


def _sizes(settings: Settings, rules: Rules) -> Words:
    yield from _unlike((("-c", settings.n_ctx, rules.default_ctx),))
    by_default = (AUTO_SLOTS, True) if settings.app == "server" and rules.auto_slots else (1, False)
    if (settings.n_parallel, settings.kv_unified) != by_default:
        yield from ("-np", str(settings.n_parallel))
        yield from _on((("-kvu", settings.kv_unified),))
    yield from _batches(settings)
    yield from _on((("--swa-full", settings.swa_full),))


def _batches(settings: Settings) -> Words:
    yield from _unlike((("-b", settings.n_batch, 2048), ("-ub", settings.n_ubatch, 512), ("-fa", settings.flash_attn, "auto")))
    yield from _unlike((("-ctk", settings.type_k, "f16"), ("-ctv", settings.type_v, "f16")))


def _placement(settings: Settings) -> Words:
    if settings.device_names is not None:
        yield from ("-dev", ",".join(settings.device_names))
    if settings.n_gpu_layers != AUTO_LAYERS:
        yield from ("-ngl", "all" if settings.n_gpu_layers == ALL_LAYERS else str(settings.n_gpu_layers))
    yield from _unlike((("-sm", settings.split_mode, "layer"), ("-mg", settings.main_gpu, 0)))
    if settings.tensor_split:
        yield from ("-ts", ",".join(f"{share:g}" for share in settings.tensor_split))
    if settings.override_tensors:
        yield from ("-ot", ",".join(f"{override.pattern}={override.buffer}" for override in settings.override_tensors))
    yield from _on((("--cpu-moe", settings.cpu_moe),))
    yield from _unlike((("--n-cpu-moe", settings.n_cpu_moe, 0), ("--n-cpu-ffn", settings.n_cpu_ffn, 0)))
    yield from _on(
        (("-nkvo", not settings.offload_kqv), ("--no-op-offload", not settings.op_offload), ("--no-host", not settings.pinned_host))
    )
    yield from _on((("--no-repack", not settings.repack),))


def _memory(settings: Settings, rules: Rules) -> Words:
    """How the file is loaded, and --fit."""
    if rules.load_mode == "flags":
        locked, mapped = "mlock" in settings.load_mode, "mmap" in settings.load_mode
        yield from _on((("--mlock", locked), ("--no-mmap", not mapped)))
    else:
        yield from _unlike((("-lm", settings.load_mode, rules.default_load_mode),))
    if rules.fit:
        yield from ("--fit", "off") if not settings.fit else ()
        yield from _unlike((("--fit-target", ",".join(map(str, settings.fit_target_mib)), "1024"), ("--fit-ctx", settings.fit_ctx, 4096)))


def _more(settings: Settings, rules: Rules) -> Words:
    """What a server keeps beside the model."""
    yield from _on((("--embeddings", settings.embeddings),))
    for adapter in settings.lora:
        yield from ("--lora", adapter)
    yield from _unlike((("--mmproj", settings.mmproj, None),))
    yield from _on((("--no-mmproj-offload", not settings.mmproj_offload),))
    if settings.app in ("server", "cli", "ollama"):
        yield from _unlike((("--cache-ram", settings.cache_ram_mib, rules.cache_ram_mib),))
        yield from _unlike((("--ctx-checkpoints", settings.ctx_checkpoints, rules.checkpoints),))
        yield from _unlike((("--checkpoint-min-step", settings.checkpoint_min_step, rules.checkpoint_step),))
    yield from _unlike((("--slot-save-path", settings.slot_save_path, None),))
    yield from _drafting(settings, rules)


def _drafting(settings: Settings, rules: Rules) -> Words:
    drafting = settings.drafting
    if drafting is None:
        return
    yield from _unlike((("--spec-type", ",".join(drafting.kinds), "draft-simple" if drafting.model else ""),))
    yield from _unlike((("--draft-max" if rules.old_draft_flags else "--spec-draft-n-max", drafting.n_max, rules.draft_tokens),))
    yield from _unlike((("-md", drafting.model, None), ("-ctkd", drafting.type_k, "f16"), ("-ctvd", drafting.type_v, "f16")))
    if drafting.n_gpu_layers != AUTO_LAYERS:
        yield from ("-ngld", "all" if drafting.n_gpu_layers == ALL_LAYERS else str(drafting.n_gpu_layers))


def _benchmark(settings: Settings) -> Words:
    """A prompt as long as the context, and nothing else."""
    yield from ("-p", str(settings.n_ctx), "-n", "0")
    yield from _batches(settings)
    yield from _unlike((("-ngl", settings.n_gpu_layers, AUTO_LAYERS), ("-sm", settings.split_mode, "layer"), ("-mg", settings.main_gpu, 0)))
    yield from _unlike((("-ncmoe", settings.n_cpu_moe, 0), ("-lm", settings.load_mode, "auto")))
    if settings.device_names is not None:
        yield from ("-dev", "/".join(settings.device_names))
    if settings.tensor_split:
        yield from ("-ts", "/".join(f"{share:g}" for share in settings.tensor_split))
    if settings.override_tensors:
        yield from ("-ot", ";".join(f"{override.pattern}={override.buffer}" for override in settings.override_tensors))
    for flag, on in (("-nkvo", not settings.offload_kqv), ("-nopo", not settings.op_offload), ("--no-host", not settings.pinned_host)):
        yield from (flag, "1") if on else ()
    yield from ("-embd", "1") if settings.embeddings else ()
