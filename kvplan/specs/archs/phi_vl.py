"""Phi-3-vision, Phi-3.5-vision and Phi-4-multimodal: Phi-3's decoder with encoders inside its embedding.

Source: transformers 5.24 models/phi4_multimodal; modeling_phi3_v.py of microsoft/Phi-3-vision-128k-instruct; modeling_phi4mm.py of
microsoft/Phi-4-multimodal-instruct; arXiv:2404.14219 §6, arXiv:2503.01743 §2.
"""

from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs.config import Config
from kvplan.specs.parts.blocks import Groups, linear
from kvplan.specs.parts.multimodal import joined, mlp_projector, tower
from kvplan.specs.parts.nested import inner_or_flat, text_model
from kvplan.specs.parts.tower import parameter, part

MODEL_TYPES = ("phi3_v", "phi4_multimodal", "phi4mm")
_CLIP_L_336: dict[str, object] = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "image_size": 336,
    "patch_size": 14,
}
_LORA = Caveat(
    "KV014",
    "warning",
    "encoders and adapters are described by the repository's code alone: counted as Transformers' own port of the model builds them",
    "the checkpoint's index has the exact total",
)


def build(cfg: Config) -> ModelSpec:
    """The language model's keys stand at the top."""
    kind = cfg.text("model_type")
    text = text_model(inner_or_flat(cfg), kind="phi3", tied=cfg.flag("tie_word_embeddings", default=kind == "phi4mm"))
    if kind == "phi3_v":
        return joined(text, *_phi3(cfg, text.hidden_size))
    if kind == "phi4mm":
        return joined(text, *_phi4(Config({}, where=cfg.where), text.hidden_size), _adapters(cfg), caveats=(_LORA,))
    return joined(text, *_phi4(cfg, text.hidden_size))


def _phi3(cfg: Config, hidden: int) -> tuple[Groups, ...]:
    """CLIP ViT-L/14 at 336 pixels, fixed in the code; four patches at a time, and learned separators of lines and views."""
    vision = tower(Config({"vision_config": _CLIP_L_336}, where=cfg.where), kind="clip_vision_model")
    embedding, width = cfg.sub("embd_layer"), cfg.sub("img_processor").integer("image_dim_out", default=vision.width)
    name = "vision_embed_tokens"
    merged = 4 * width if embedding.flag("use_hd_transform", default=False) else width
    separators: Groups = ()
    if embedding.flag("with_learnable_separator", default=False):
        separators = (parameter("glb_GN", merged), parameter("sub_GN", merged))
    if embedding.text("projection_cls", default="linear") == "mlp":
        projection = mlp_projector(merged, hidden, hidden, name="img_projection.")
    else:
        projection = mlp_projector(merged, hidden, name="img_projection.")
    return part(f"{name}.img_processor", vision.groups, "vision"), part(name, (*separators, *projection), "projector")


def _phi4(cfg: Config, hidden: int) -> tuple[Groups, ...]:
    """An image encoder with separators, an audio encoder with one projection for speech and one for speech with images."""
    vision, audio = tower(cfg, kind="phi4_multimodal_vision"), tower(cfg, "audio_config", kind="phi4_multimodal_audio")
    frames = audio.width * cfg.sub("audio_config").integer("downsample_rate", default=1)
    seen = (
        parameter("global_img_feature_extensor", vision.width),
        parameter("sub_img_feature_extensor", vision.width),
        *mlp_projector(vision.width, hidden, hidden, name="img_projection_"),
    )
    heard = (
        *mlp_projector(frames, hidden, hidden, name="speech_proj_"),
        *mlp_projector(frames, hidden, hidden, name="vision_speech_proj_"),
    )
    name = "embed_tokens_extend"
    return (
        part(f"{name}.image_embed.img_processor", vision.groups, "vision"),
        part(f"{name}.audio_embed.encoder", audio.groups, "audio"),
        part(f"{name}.image_embed", seen, "projector"),
        part(f"{name}.audio_embed", heard, "projector"),
    )


def _adapters(cfg: Config) -> Groups:
    """The low-rank adapters of ``vision_lora`` and ``speech_lora`` on every linear layer of the decoder."""
    hidden, inner = cfg.integer("hidden_size"), cfg.integer("intermediate_size")
    n_heads = cfg.integer("num_attention_heads")
    keys = cfg.integer("num_key_value_heads", default=n_heads) * (hidden // n_heads)
    shapes = ((hidden, hidden + 2 * keys), (hidden, hidden), (hidden, 2 * inner), (inner, hidden))
    ranks = [cfg.sub(key).integer("r") for key in ("vision_lora", "speech_lora") if cfg.has(key)]
    pairs = (
        (*linear("lora_A", rank, n_in, role="projector"), *linear("lora_B", n_out, rank, role="projector"))
        for rank in ranks
        for n_in, n_out in shapes
    )
    return tuple(group._replace(n_copies=cfg.n_layers()) for pair in pairs for group in pair)
