"""Small models that read documents: GOT-OCR 2, PP-Chart2Table, PaddleOCR-VL and Granite-Docling.

Source: transformers 5.24 models/{got_ocr2,pp_chart2table,paddleocr_vl,granite_docling}; Wei et al. 2024, arXiv:2409.01704 §3.
"""

from kvplan.core.model import ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, copies, linear, norm
from kvplan.specs.parts.multimodal import joined, mlp_projector, tied_to_text, tower
from kvplan.specs.parts.nested import inner_or_flat, language_model, text_model
from kvplan.specs.parts.tower import conv, part

MODEL_TYPES = ("got_ocr2", "pp_chart2table", "paddleocr_vl", "granite_docling")


def build(cfg: Config) -> ModelSpec:
    """Embeddings are tied unless the outer config says otherwise."""
    kind = cfg.text("model_type")
    if kind == "paddleocr_vl":
        return _paddle(cfg)
    if kind == "granite_docling":
        return _docling(cfg)
    text = language_model(cfg, default_type="qwen2", tied=cfg.flag("tie_word_embeddings", default=True))
    vision = tower(cfg, kind=f"{kind}_vision")
    projector = (
        *conv("conv_upsampler1", 2 * vision.width, vision.width, 3, 3, bias=False),
        *conv("conv_upsampler2", text.hidden_size, 2 * vision.width, 3, 3, bias=False),
        *linear("multimodal_projector", text.hidden_size, text.hidden_size, role="projector", bias=True),
    )
    return joined(text, part("vision_tower", vision.groups, "vision"), part("multi_modal_projector", projector, "projector"))


def _paddle(cfg: Config) -> ModelSpec:
    """ERNIE 4.5's decoder, whose keys may stand at the top; a norm of each patch, then two layers over a square of them."""
    text = text_model(inner_or_flat(cfg), kind="paddleocr_vl_text", like="ernie4_5", tied=tied_to_text(cfg, default=True))
    vision = tower(cfg, kind="paddleocr_vl_vision")
    merged = vision.width * cfg.sub("vision_config").integer("spatial_merge_size", default=2) ** 2
    projector = (*norm("pre_norm", vision.width, bias=True), *mlp_projector(merged, merged, text.hidden_size))
    return joined(text, part("visual", vision.groups, "vision"), part("projector", projector, "projector"))


def _docling(cfg: Config) -> ModelSpec:
    """Granite's decoder; a coarse and a fine path of pixel shuffle, and a router between them where it has a width."""
    text = language_model(cfg, kind="granite_docling_text", like="granite", tied=cfg.flag("tie_word_embeddings", default=True))
    sizes, vision = cfg.sub("vision_config"), tower(cfg, kind="granite_docling_vision")
    out, factor = sizes.integer("out_hidden_size", default=1024), sizes.integer("scale_factor", default=4)
    deep = len(sizes.integers("deepstack_visual_indexes", default=(3, 7, 10)))
    fine = sizes.flag("use_fine_route", default=True)
    connector = (
        *norm("ln_in", vision.width, bias=True),
        *_path("coarse", vision.width * factor**2, out, deep),
        *(_path("fine", vision.width * (factor // 2) ** 2, out, deep) if fine else ()),
        *norm("ln_mid", out, bias=True),
        *linear("mlp_fc2", out, out, role="projector"),
        *norm("ln_out", out, bias=True),
    )
    router = _density_router(cfg, vision.width)
    return joined(text, part("vision_model", vision.groups, "vision"), part("connector", (*connector, *router), "projector"))


def _path(name: str, merged: int, out: int, n_deep: int) -> Groups:
    """A projection of merged patches, and a merger for each earlier layer that feeds the decoder."""
    merger: Groups = (*norm(f"{name}.deepstack.layer_norm", merged, bias=True), *mlp_projector(merged, out, out, name=f"{name}.deepstack."))
    return (*linear(f"{name}.projection", out, merged, role="projector"), *(copies(merger, n_deep) if n_deep else ()))


def _density_router(cfg: Config, width: int) -> Groups:
    if not cfg.has("density_router_hidden_size"):
        return ()
    inner = cfg.integer("density_router_hidden_size")
    return (
        *linear("density_router.att", 1, width, role="projector", bias=True),
        *norm("density_router.norm", width, bias=True),
        *linear("density_router.fc1", inner, width, role="projector", bias=True),
        *linear("density_router.fc2", 1, inner, role="projector", bias=True),
    )
