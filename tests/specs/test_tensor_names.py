"""What names of tensors tell."""

import pytest

from kvplan.core.checkpoint import Part
from kvplan.core.roles import Role
from kvplan.specs.tensor_names import part_and_role

NAMES: dict[tuple[Part, Role], tuple[str, ...]] = {
    ("model", "embedding"): (
        "model.embed_tokens.weight",
        "transformer.wte.weight",
        "wpe.weight",
        "gpt_neox.embed_in.weight",
        "backbone.embeddings.weight",
        "shared.weight",
        "model.tok_embeddings.weight",
        "transformer.word_embeddings.weight",
        "model.decoder.embed_positions.weight",
    ),
    ("model", "lm_head"): ("lm_head.weight", "lm_head.bias", "embed_out.weight", "output.weight", "head.weight", "proj_out.weight"),
    ("model", "norm"): (
        "model.norm.weight",
        "transformer.ln_f.bias",
        "h.3.ln_1.weight",
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.self_attn.q_norm.weight",
        "transformer.blocks.4.norm_attn_norm.norm_2.weight",
        "backbone.norm_f.weight",
        "rwkv.blocks.0.ln1.weight",
        "decoder.block.0.layer.1.layer_norm.weight",
        "transformer.word_embeddings_layernorm.weight",
    ),
    ("model", "attention"): (
        "h.0.attn.c_attn.bias",
        "model.layers.3.self_attn.qkv_proj.weight",
        "gpt_neox.layers.1.attention.query_key_value.weight",
        "transformer.h.0.self_attention.dense.weight",
        "decoder.block.0.layer.1.EncDecAttention.q.weight",
        "model.layers.1.self_attn.sinks",
        "model.layers.1.self_attn.kv_a_proj_with_mqa.weight",
        "transformer.blocks.0.norm_attn_norm.attn.Wqkv.weight",
    ),
    ("model", "mlp"): (
        "model.layers.0.mlp.gate_proj.weight",
        "h.0.mlp.c_fc.weight",
        "decoder.block.0.layer.2.DenseReluDense.wi_0.weight",
        "model.layers.0.feed_forward.w1.weight",
        "model.decoder.layers.0.fc1.weight",
    ),
    ("model", "router"): (
        "model.layers.0.mlp.gate.weight",
        "model.layers.0.block_sparse_moe.gate.weight",
        "model.layers.0.mlp.router.bias",
        "transformer.blocks.0.ffn.router.layer.weight",
        "model.layers.0.feed_forward.router.weight",
    ),
    ("model", "expert"): (
        "model.layers.0.mlp.experts.7.down_proj.weight",
        "model.layers.0.mlp.experts.gate_up_proj_blocks",
        "model.layers.0.block_sparse_moe.experts.0.w2.weight",
        "transformer.blocks.0.ffn.experts.mlp.w1",
    ),
    ("model", "shared_expert"): (
        "model.layers.0.mlp.shared_experts.up_proj.weight",
        "model.layers.0.mlp.shared_expert_gate.weight",
    ),
    ("model", "mixer"): (
        "backbone.layers.0.mixer.A_log",
        "model.layers.0.linear_attn.in_proj_qkvz.weight",
        "model.layers.0.mamba.conv1d.bias",
        "model.layers.1.conv.in_proj.weight",
    ),
    ("model", "indexer"): ("model.layers.0.self_attn.indexer.wk.weight",),
    ("model", "encoder"): ("encoder.block.0.layer.0.SelfAttention.q.weight", "model.encoder.layers.0.self_attn.q_proj.weight"),
    ("model", "vision"): (
        "vision_tower.vision_model.encoder.layers.3.mlp.fc1.weight",
        "model.visual.blocks.0.attn.qkv.weight",
        "visual.patch_embed.proj.weight",
        "model.image_newline",
    ),
    ("model", "audio"): ("audio_tower.layers.0.self_attn.q_proj.weight", "model.audio_tower.conformer.0.norm.weight"),
    ("model", "projector"): (
        "multi_modal_projector.linear_1.weight",
        "model.connector.modality_projection.proj.weight",
        "visual.merger.mlp.0.weight",
        "model.embed_vision.embedding_projection.weight",
    ),
    ("mtp", "other"): ("mtp.eh_proj.weight",),
    ("mtp", "attention"): (
        "mtp.layers.0.self_attn.q_proj.weight",
        "model.mtp.0.self_attn.k_proj.weight",
        "model.mtp_layers.0.self_attn.q_b.weight",
    ),
    ("mtp", "expert"): ("model.nextn.layers.0.mlp.experts.3.up_proj.weight",),
    ("mtp", "scale"): ("mtp.layers.0.mlp.experts.3.up_proj.weight_scale_inv",),
    ("model", "scale"): (
        "model.layers.0.mlp.up_proj.qzeros",
        "model.layers.0.mlp.up_proj.scales",
        "model.layers.0.mlp.up_proj.g_idx",
        "model.layers.0.mlp.up_proj.SCB",
        "model.layers.0.mlp.up_proj.weight_format",
        "model.layers.0.mlp.up_proj.weight.absmax",
        "model.layers.0.mlp.up_proj.weight.nested_quant_map",
        "model.layers.0.mlp.up_proj.weight.quant_state.bitsandbytes__nf4",
        "model.layers.0.mlp.up_proj.weight_scale",
        "model.layers.0.mlp.up_proj.weight_scale_2",
        "model.layers.0.mlp.up_proj.weight_scale_inv",
        "model.layers.0.mlp.up_proj.weight_global_scale",
        "model.layers.0.mlp.up_proj.input_scale",
        "model.layers.0.mlp.up_proj.input_global_scale",
        "model.layers.0.mlp.up_proj.weight_zero_point",
        "model.layers.0.mlp.up_proj.weight_shape",
        "model.layers.0.mlp.up_proj.weight_g_idx",
        "model.layers.0.mlp.experts.down_proj_scales",
        "model.layers.0.self_attn.k_scale",
        "model.layers.0.self_attn.v_proj.output_scale",
        "lm_head.biases",
        "model.layers.3.mlp.gate.e_score_correction_bias",
        "model.audio_tower.layers.0.self_attn.q_proj.input_max",
    ),
    ("buffer", "other"): (
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "h.0.attn.masked_bias",
        "vision_model.embeddings.position_ids",
        "final_logits_bias",
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
        "encoder.version",
    ),
}


@pytest.mark.parametrize(("told", "names"), NAMES.items(), ids=["-".join(told) for told in NAMES])
def test_names(told: tuple[Part, Role], names: tuple[str, ...]) -> None:
    assert {name: part_and_role(name) for name in names} == dict.fromkeys(names, told)


def test_scales_are_parameters_where_nothing_is_quantized() -> None:
    assert part_and_role("model.layers.0.self_attn.softmax_scaling.scale", scales=False) == ("model", "attention")
