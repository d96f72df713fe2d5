"""GPT, GPT-2, GPT-Sw3, GPT-BigCode (SantaCoder, StarCoder) and Jais: learned positions, one fused projection, tied embeddings.

Source: transformers 5.24 models/gpt2, models/openai, models/gpt_bigcode; vllm models/jais.py; Radford et al. 2019, "Language models are
unsupervised multitask learners" §2.3; multi-query: Shazeer 2019, arXiv:1911.02150.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import ModelSpec
from kvplan.specs.config import MAX_LAYERS, Config
from kvplan.specs.parts.blocks import buffer, norm
from kvplan.specs.parts.classic import LAYER_NORMED, UNFED_CROSS_ATTENTION, Shape, block, classic, cross_attention, equal_heads, positions
from kvplan.specs.parts.forms import FUSED_VIEW_CORE, plain

MODEL_TYPES = ("gpt2", "gpt-sw3", "gpt_bigcode", "openai-gpt", "jais")

_N_POSITIONS = {"openai-gpt": 512}


def build(cfg: Config) -> ModelSpec:
    """GPT-BigCode shares one key and value head unless ``multi_query`` is off; the first GPT has no final norm.

    Jais may gate its feed-forward (``swiglu``) and have ALiBi instead of positions.
    """
    model_type = cfg.text("model_type")
    first_gpt, bigcode = model_type == "openai-gpt", model_type == "gpt_bigcode"
    multi_query = bigcode and cfg.flag("multi_query", default=True)
    crossed = not first_gpt and cfg.flag("add_cross_attention", default=False)
    if multi_query and crossed:
        raise cfg.error("add_cross_attention", "expected false: multi-query attention has no cross-attention")
    n_positions = cfg.integer("n_positions", "max_position_embeddings", default=_N_POSITIONS.get(model_type, 1024))
    shape = _shape(cfg, n_positions, n_kv_heads=1 if multi_query else None)
    gated = model_type == "jais" and cfg.text("activation_function", default="gelu") == "swiglu"
    learned = model_type != "jais" or cfg.text("position_embedding_type", default="learned") != "alibi"
    style = LAYER_NORMED._replace(final_norm=not first_gpt, gated=gated, tied=cfg.flag("tie_word_embeddings", default=True))
    cross = (*cross_attention(shape.hidden, shape.heads, source=shape.hidden, bias=True), *norm("cross_attn_norm", shape.hidden, bias=True))
    masks = buffer("attn.bias", n_positions, n_positions) if first_gpt else ()
    layer = block(shape, style, extra=(*(cross if crossed else ()), *masks))
    form = _form(cfg, bigcode=bigcode)._replace(learned_positions=learned, checked=not (gated or first_gpt or crossed))
    tables = (
        *(positions(n_positions, shape.hidden) if learned else ()),
        *(buffer("bias", n_positions, n_positions, dtype="bool") if bigcode else ()),
    )
    spec = classic(shape, style, form, layers=(layer,) * shape.n_layers, extra=tables)
    return spec._replace(caveats=(UNFED_CROSS_ATTENTION,)) if crossed else spec


def _shape(cfg: Config, n_positions: int, *, n_kv_heads: int | None) -> Shape:
    hidden = cfg.integer("n_embd", "hidden_size")
    return Shape(
        hidden=hidden,
        n_layers=cfg.integer("n_layer", "num_hidden_layers", most=MAX_LAYERS),
        heads=equal_heads(cfg, hidden, "n_head", "num_attention_heads", n_kv_heads=n_kv_heads),
        intermediate=4 * hidden if cfg.text("model_type") == "openai-gpt" else cfg.integer("n_inner", default=4 * hidden),
        vocab=cfg.integer("vocab_size"),
        max_ctx=n_positions,
    )


def _form(cfg: Config, *, bigcode: bool) -> ActivationForm:
    """GPT-BigCode scales and softmaxes scores in float32."""
    act = cfg.text("activation_function", default="gelu_pytorch_tanh" if bigcode else "gelu_new")
    scores = "NL + 2fNL" if bigcode else "2NL"
    return ActivationForm(norm="5H", core=FUSED_VIEW_CORE, scores=scores, mlp=plain(act, hidden="5H"), kv_heads="shared")
