"""Architectures that nobody wrote down: built only where keys and tensors are plainly those of an ordinary decoder."""

from kvplan import _discover
from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.model import Caveat
from kvplan.specs.gguf.attention import attending_plan
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Plan

ARCHS = "kvplan.specs.gguf.archs"

_NEEDED = ("context_length", "embedding_length", "attention.head_count", "attention.head_count_kv")
_PROJECTIONS = ("attn_q.weight", "attn_k.weight", "attn_v.weight")
# fmt: off
# parts of keys and of tensors that speak of what such a decoder does not have
_FOREIGN = (
    "ssm", "wkv", "kda", "shortconv", "time_mix", "token_shift", "sliding", "_swa", "lora_rank", "_mla", "indexer", "compress",
    "shared_kv", "recurrent", "full_attention_interval", "hyper_connection", "altup", "laurel", "cross_attn", "num_loops", "hrm.",
    "decoder_block", "target_layers", "adapters.", "ple.", "attn_kv", "conv", "attention.causal",
)
# fmt: on
_NOT_MODELS = {
    "clip": "a projector for images or sound (mmproj)",
    "wavtokenizer-dec": "a vocoder",
    "eagle3": "a draft head of another model",
    "dflash": "a draft head of another model",
    "gemma4-assistant": "a draft head of another model",
}


def plan_by_likeness(keys: Keys) -> Plan:
    """Attention in every layer, and a warning.

    Raises RequestError that says what is foreign or missing, with the known names that look like this one.
    """
    if keys.arch in _NOT_MODELS:
        text = f"{keys.where}: expected a language model, found {_NOT_MODELS[keys.arch]}"
        raise RequestError("no_model", text, hint="name the model's file")
    reason = _unlike(keys)
    if reason is not None:
        known = _discover.claimants(ARCHS, "GGUF_ARCHS")
        text = f"{keys.where}: general.architecture: unknown architecture '{keys.arch}', {reason}: its memory can't be told from this file"
        raise RequestError("unknown_architecture", text, hint=did_you_mean(keys.arch, known) or "a newer kvplan may know it")
    message = f"{keys.where}: architecture '{keys.arch}' is not known: counted as a decoder that attends to everything, as its tensors look"
    caveat = Caveat("KV021", "warning", message, "windows or states that its keys don't speak of would change the cache, not the weights")
    return attending_plan(keys)._replace(caveats=(caveat,))


def _unlike(keys: Keys) -> str | None:
    missing = [key for key in _NEEDED if not keys.has(key)]
    if missing:
        return f"and {', '.join(missing)} missing"
    own = [key.removeprefix(f"{keys.arch}.") for key in keys.header.values if key.startswith(f"{keys.arch}.")]
    names = {tensor.name for tensor in keys.header.tensors}
    foreign = [word for word in (*own, *sorted(names)) if any(part in word for part in _FOREIGN)]
    if foreign:
        return f"with what an ordinary decoder doesn't have ({', '.join(foreign[:4])})"
    lacking = next((f"blk.{i}.{part}" for i in range(keys.n_layers) for part in _PROJECTIONS if f"blk.{i}.{part}" not in names), None)
    return f"without a tensor '{lacking}'" if lacking else None
