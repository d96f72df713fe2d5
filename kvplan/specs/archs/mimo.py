"""MiMo-7B: Qwen2's blocks, and layers that predict further tokens, which plain decoding leaves out.

Source: modeling_mimo.py of XiaomiMiMo/MiMo-7B-RL; vLLM model_executor/models/mimo_mtp.py; MiMo report, arXiv:2505.07608 §2.1.
"""

from kvplan.core.forms import ActivationForm
from kvplan.core.model import Layer, LayerRun, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import linear, norm
from kvplan.specs.parts.decoder import Style, completed, decoder, rotary_width

MODEL_TYPES = ("mimo",)


def build(cfg: Config) -> ModelSpec:
    """Biases on q, k and v; ``num_nextn_predict_layers`` further layers stand apart."""
    cfg = completed(cfg, {"num_nextn_predict_layers": 0})
    spec = decoder(cfg, Style(qkv_bias=True), ActivationForm(rotary_dim=rotary_width(cfg)))
    n_further = cfg.integer("num_nextn_predict_layers", least=0)
    if not n_further:
        return spec
    return spec._replace(mtp=(LayerRun(n_further, _predicting(spec.runs[-1].layer, spec.hidden_size)),))


def _predicting(layer: Layer, hidden: int) -> Layer:
    """``layer`` with what joins the last hidden state and the next token's embedding, each normalized."""
    names = ("token_layernorm", "hidden_layernorm", "final_layernorm")
    joining = linear("input_proj", hidden, 2 * hidden, role="other")
    return layer._replace(weights=(*layer.weights, *joining, *(group for name in names for group in norm(name, hidden))))
