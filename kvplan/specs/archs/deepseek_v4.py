"""DeepSeek-V4: a window of plain tokens beside compressed ones, hyper-connections, and a mixture in every layer.

``deepseek_ref`` is the same model in its authors' own code.
Source: transformers 5.24 models/deepseek_v4; DeepSeek-V4 report §2.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.indexer import Indexer
from kvplan.core.mixers import CompressedAttention
from kvplan.core.model import Layer, ModelSpec, MoeFfn, WeightGroup
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, vector
from kvplan.specs.parts.compression import attention_weights
from kvplan.specs.parts.decoder import Style, assemble
from kvplan.specs.parts.experts import MoeStyle, moe
from kvplan.specs.parts.hyper import hyper_connection, hyper_head
from kvplan.specs.parts.indexing import read_indexer
from kvplan.specs.parts.latent import block_norms
from kvplan.specs.parts.mtp import n_next_token, next_token

MODEL_TYPES = ("deepseek_v4", "deepseek_ref")

WINDOW, SPARSE, HEAVY = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"
KINDS_BY_RATIO = {0: WINDOW, 4: SPARSE, 128: HEAVY}
RATES = {SPARSE: ("compress_rate_csa", 4), HEAVY: ("compress_rate_hca", 128)}
MLP_KINDS = ("moe", "hash_moe")
ALIASES = {"num_local_experts": "n_routed_experts", "intermediate_size": "moe_intermediate_size"}
DEFAULTS: dict[str, object] = {
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "num_experts_per_tok": 6,
    "head_dim": 512,
    "q_lora_rank": 1024,
    "o_groups": 8,
    "o_lora_rank": 1024,
    "sliding_window": 128,
    "index_n_heads": 64,
    "index_head_dim": 128,
    "index_topk": 512,
    "hc_mult": 4,
    "num_hash_layers": 3,
    "num_nextn_predict_layers": 1,
    "qk_rope_head_dim": 64,
    "max_position_embeddings": 1048576,
}


def build(cfg: Config) -> ModelSpec:
    """The next-token layer keeps the window alone, and has a joint of the streams of its own."""
    cfg = cfg.renamed(ALIASES).with_defaults(DEFAULTS)
    hidden, n_streams = cfg.integer("hidden_size"), cfg.integer("hc_mult")
    pairs = list(zip(_kinds(cfg), _mlp_kinds(cfg), strict=True))
    made = {pair: _layer(cfg, *pair) for pair in dict.fromkeys(pairs)}
    form = ActivationForm(rotary_dim=cfg.integer("qk_rope_head_dim"))
    spec = assemble(cfg, [made[pair] for pair in pairs], Style(), form)
    drafting = _layer(cfg, WINDOW, "moe")
    drafting = drafting._replace(weights=(*drafting.weights, *hyper_head("hc_head", hidden, n_streams)))
    weights = (*_float32_norms(spec.weights), *hyper_head("hc_head", hidden, n_streams))
    return spec._replace(weights=weights, mtp=next_token(hidden, drafting, n_next_token(cfg)))


def _layer(cfg: Config, kind: str, mlp_kind: str) -> Layer:
    hidden, n_streams, mixer = cfg.integer("hidden_size"), cfg.integer("hc_mult"), _mixer(cfg, kind)
    n_experts, width = cfg.integer("n_routed_experts"), cfg.integer("moe_intermediate_size")
    ffn = MoeFfn(n_experts, cfg.integer("num_experts_per_tok", most=n_experts), width, shared_intermediate=width)
    style = MoeStyle(
        correction="buffer" if mlp_kind == "moe" else None, correction_dtype="float32", mlp_bias=cfg.flag("mlp_bias", default=False)
    )
    weights = (
        *block_norms(hidden),
        *attention_weights(cfg, hidden, mixer),
        *vector("self_attn.sinks", mixer.n_heads, role="attention", dtype="float32"),
        *moe(hidden, ffn, style),
        *(_token_table(cfg, ffn) if mlp_kind == "hash_moe" else ()),
        *hyper_connection("attn_hc", hidden, n_streams, mixes=True),
        *hyper_connection("ffn_hc", hidden, n_streams, mixes=True),
    )
    return Layer((mixer,), (ffn,), _float32_norms(weights))


def _mixer(cfg: Config, kind: str) -> CompressedAttention:
    indexer: Indexer | None = read_indexer(cfg) if kind == SPARSE else None
    ratio = 0 if kind == WINDOW else _rate(cfg, kind)
    return CompressedAttention(
        cfg.integer("num_attention_heads", most=2**16), 1, cfg.integer("head_dim"), cfg.integer("sliding_window"), ratio, indexer
    )


def _rate(cfg: Config, kind: str) -> int:
    """Tokens per compressed entry: ``compress_rates``, or the older keys, which win."""
    key, default = RATES[kind]
    return cfg.integer(key, default=cfg.sub("compress_rates").integer(kind, default=default))


def _kinds(cfg: Config) -> tuple[str, ...]:
    """``layer_types``, else from ``compress_ratios``, which may go on to the next-token layers, else the class's rhythm."""
    n_layers = cfg.n_layers()
    if cfg.has("layer_types"):
        kinds = cfg.texts("layer_types")
    elif cfg.has("compress_ratios"):
        ratios = cfg.integers("compress_ratios")
        strange = next((ratio for ratio in ratios if ratio not in KINDS_BY_RATIO), None)
        if strange is not None:
            raise cfg.error("compress_ratios", f"unknown ratio {strange}", hint=f"known: {', '.join(map(str, KINDS_BY_RATIO))}")
        kinds = tuple(KINDS_BY_RATIO[ratio] for ratio in ratios)
    else:
        kinds = tuple(SPARSE if i > 1 and i % 2 else HEAVY for i in range(n_layers))
    return _checked(cfg, "layer_types" if cfg.has("layer_types") else "compress_ratios", kinds, tuple(KINDS_BY_RATIO.values()))


def _mlp_kinds(cfg: Config) -> tuple[str, ...]:
    """The first ``num_hash_layers`` choose experts by the token's id, the others by score."""
    n_hash = cfg.integer("num_hash_layers", least=0)
    default = tuple("hash_moe" if i < n_hash else "moe" for i in range(cfg.n_layers()))
    return _checked(cfg, "mlp_layer_types", cfg.texts("mlp_layer_types", default=default), MLP_KINDS)


def _checked(cfg: Config, key: str, kinds: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    strange = next((kind for kind in kinds if kind not in known), None)
    if strange is not None:
        raise cfg.error(key, f"unknown kind of layer '{strange}'", hint=f"known: {', '.join(known)}")
    return tuple(cfg.per_layer(key, cfg.n_layers(), kinds[: cfg.n_layers()]))


def _token_table(cfg: Config, ffn: MoeFfn) -> Groups:
    """Which experts each token of the vocabulary goes to: a table that is stored and no parameter."""
    return (WeightGroup("mlp.gate.tid2eid", "scale", cfg.integer("vocab_size"), ffn.n_active, dtype="int64"),)


def _float32_norms(groups: Groups) -> Groups:
    return tuple(group._replace(dtype="float32") if group.role == "norm" else group for group in groups)
