"""DeepSeek-V4's attention as weight groups: low-rank queries and output, one K=V head, compressors."""

from kvplan.core.mixers import CompressedAttention
from kvplan.core.model import WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear, norm


def attention_weights(cfg: Config, hidden: int, mixer: CompressedAttention) -> Groups:
    """Projections of one block and its compressor; the output goes through ``o_groups`` low-rank parts.

    Source: transformers 5.24 models/deepseek_v4/modeling_deepseek_v4.py, DeepseekV4Attention.
    """
    rank, n_groups, out_rank = cfg.integer("q_lora_rank"), cfg.integer("o_groups"), cfg.integer("o_lora_rank")
    width = mixer.n_heads * mixer.head_dim
    if width % n_groups:
        raise cfg.error("o_groups", f"expected a divisor of num_attention_heads · head_dim = {width}, found {n_groups}")
    return (
        *linear("self_attn.q_a_proj", rank, hidden, role="attention"),
        *norm("self_attn.q_a_norm", rank),
        *linear("self_attn.q_b_proj", width, rank, role="attention", shard="column"),
        *linear("self_attn.kv_proj", mixer.head_dim, hidden, role="attention"),
        *norm("self_attn.kv_norm", mixer.head_dim),
        *linear("self_attn.o_a_proj", n_groups * out_rank, width // n_groups, role="attention", shard="column"),
        *linear("self_attn.o_b_proj", hidden, n_groups * out_rank, role="attention", shard="row"),
        *(_compressors(hidden, rank, mixer) if mixer.ratio else ()),
    )


def _compressors(hidden: int, q_rank: int, mixer: CompressedAttention) -> Groups:
    """The layer's compressor; with an indexer both it and a smaller one of the indexer's make two overlapping series."""
    name = "self_attn.compressor"
    if mixer.indexer is None:
        return _compressor(name, hidden, mixer, mixer.head_dim)
    indexer = mixer.indexer
    inside = (
        *_compressor(f"{name}.indexer", hidden, mixer, indexer.head_dim),
        *linear(f"{name}.indexer.q_b_proj", indexer.n_heads * indexer.head_dim, q_rank, role="indexer"),
        *linear(f"{name}.indexer.scorer.weights_proj", indexer.n_heads, hidden, role="indexer"),
    )
    return (*_compressor(name, hidden, mixer, mixer.head_dim), *(group._replace(role="indexer") for group in inside))


def _compressor(name: str, hidden: int, mixer: CompressedAttention, width: int) -> Groups:
    """Values, gates and a learned weight per position of a block, of entries ``width`` wide."""
    series = 2 * width if mixer.indexer else width
    return (
        *linear(f"{name}.kv_proj", series, hidden, role="attention"),
        *linear(f"{name}.gate_proj", series, hidden, role="attention"),
        WeightGroup(f"{name}.position_bias", "attention", mixer.ratio, series, dtype="float32"),
        *(group._replace(dtype="float32") for group in norm(f"{name}.kv_norm", width)),
    )
