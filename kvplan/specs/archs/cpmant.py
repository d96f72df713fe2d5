"""CPM-Ant: gated blocks with relative positions, and a learned prompt in front of every sequence.

Source: transformers 5.24 models/cpmant/modeling_cpmant.py.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Caveat, ModelSpec, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.attention import Heads
from kvplan.specs.parts.blocks import Groups, embedding, lm_head, norm
from kvplan.specs.parts.classic import Shape, assembled, block
from kvplan.specs.parts.decoder import Style

MODEL_TYPES = ("cpmant",)


def build(cfg: Config) -> ModelSpec:
    """The output projection is never tied: the embeddings also hold the prompts' tokens."""
    n_heads, width = cfg.integer("num_attention_heads", most=2**16), cfg.integer("dim_head", default=128)
    shape = Shape(
        hidden=cfg.integer("hidden_size"),
        n_layers=cfg.n_layers(),
        heads=Heads(n_heads, n_heads, width, width),
        intermediate=cfg.integer("dim_ff"),
        vocab=cfg.integer("vocab_size"),
        max_ctx=None,
    )
    prompt = cfg.integer("prompt_length", default=32)
    weights = (
        *_tables(cfg, shape, prompt),
        *norm("norm", shape.hidden),
        *lm_head(shape.vocab, shape.hidden, tied=False),
    )
    spec = assembled(shape, (block(shape, Style()),) * shape.n_layers, weights, ActivationForm())
    return spec._replace(caveats=(_prompted(prompt),))


def _tables(cfg: Config, shape: Shape, prompt: int) -> Groups:
    """Tokens and prompts, kinds of segments, and a bias per bucket of distances or pair of segments and head."""
    n_segments, n_buckets = cfg.integer("segment_types", default=32), cfg.integer("position_bias_num_buckets", default=512)
    n_prompts = cfg.integer("prompt_types", default=32) * prompt
    return (
        *embedding(shape.vocab + n_prompts, shape.hidden),
        *embedding(n_segments, shape.hidden, name="segment_embedding"),
        WeightGroup("position_bias.relative_attention_bias", "attention", n_segments**2 + n_buckets, shape.heads.n_heads),
    )


def _prompted(prompt: int) -> Caveat:
    return Caveat(
        "KV011",
        "note",
        f"every sequence starts with {prompt} tokens of a learned prompt, which the cache holds too",
        f"count them as context: --ctx {prompt} larger",
    )
