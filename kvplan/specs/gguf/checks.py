"""Do the tensors of a GGUF file have the shapes that its keys say?"""

from kvplan.core.mixers import Mixer
from kvplan.specs.gguf.keys import Keys
from kvplan.specs.gguf.plan import Mixing
from kvplan.specs.gguf.weights import Block

_INPUTS = ("attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_qkv.weight")
"""Projections of the residual stream."""


def checked_vocab(keys: Keys) -> int:
    """Rows of the token embedding. Raises RequestError where they are not the vocabulary or not as wide as the model, or an
    output projection has others.
    """
    table = next((tensor for tensor in keys.header.tensors if tensor.name == "token_embd.weight"), None)
    if table is None or len(table.shape) != 2:
        raise keys.contradiction("token_embd.weight", "missing: expected hidden size × vocabulary")
    hidden, n_rows = table.shape
    if hidden != keys.hidden:
        raise keys.contradiction(table.name, f"expected rows of embedding_length = {keys.hidden}, found {hidden}")
    if keys.header.n_vocab not in (None, n_rows) and _n_tokens(keys) != n_rows:
        raise keys.contradiction(table.name, f"expected {keys.header.n_vocab} rows, the vocabulary, found {n_rows}")
    output = next((tensor for tensor in keys.header.tensors if tensor.name == "output.weight"), None)
    if output is not None and output.shape != table.shape:
        found = " × ".join(map(str, output.shape))
        raise keys.contradiction(output.name, f"expected {hidden} × {n_rows} like the token embedding, found {found}")
    return n_rows


def check_block(keys: Keys, mixing: Mixing, block: Block) -> None:
    """Raises RequestError where a projection of the block gives another width than its mixers need, or has no mixer to be of."""
    _check_attention(keys, mixing, block)
    for mixer in dict.fromkeys(mixing.mixers):
        for name, widths in _outputs(mixer):
            tensor = block.get(name)
            if tensor is not None and tensor.shape[-1] not in widths:
                expected = " or ".join(map(str, widths))
                raise keys.contradiction(tensor.name, f"expected {expected} rows by the keys, found {tensor.shape[-1]}")


def _check_attention(keys: Keys, mixing: Mixing, block: Block) -> None:
    """What keys the block has comes with queries and with a mixer, and is as wide as the model."""
    keyed = block.get("attn_k.weight")
    if keyed is not None and not mixing.mixers:
        raise keys.contradiction(keyed.name, "expected none in a layer that has no attention by the keys (attention.head_count_kv)")
    if keyed is not None and not any(name.startswith("attn_q") for name in block):
        raise keys.contradiction(keyed.name, "expected attn_q.weight beside it, found none")
    for tensor in (block[name] for name in _INPUTS if name in block):
        if len(tensor.shape) != 2 or tensor.shape[0] != keys.hidden:
            found = " × ".join(map(str, tensor.shape))
            raise keys.contradiction(tensor.name, f"expected rows of embedding_length = {keys.hidden}, found {found}")


def _outputs(mixer: Mixer) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """How many rows a mixer's projections have; queries twice as many where their second half is a gate."""
    if mixer.kind in ("full", "sliding", "chunked"):
        q, k, v = mixer.n_heads * mixer.head_dim, mixer.n_kv_heads * mixer.head_dim, mixer.n_kv_heads * mixer.v_head_dim
        both = (q + k + v, 2 * q + k + v)
        return (("attn_q.weight", (q, 2 * q)), ("attn_k.weight", (k,)), ("attn_v.weight", (v,)), ("attn_qkv.weight", both))
    if mixer.kind == "mla":
        return (("attn_kv_a_mqa.weight", (mixer.kv_lora_rank + mixer.rope_head_dim,)),)
    if mixer.kind == "compressed":
        return (("attn_kv.weight", (mixer.head_dim,)),)
    if mixer.kind in ("mamba2", "gated_delta"):
        return (("ssm_conv1d.weight", (mixer.conv_dim,)),)
    if mixer.kind == "mamba1":
        return (("ssm_conv1d.weight", (mixer.inner_dim,)),)
    return ()


def _n_tokens(keys: Keys) -> int | None:
    """Tokens of the tokenizer, which llama.cpp goes by where vocab_size says something else."""
    tokens = keys.header.values.get("tokenizer.ggml.tokens")
    return getattr(tokens, "n", None) if tokens is not None else None
