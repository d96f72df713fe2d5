"""Names of GGUF tensors, as llama.cpp's tables have them."""

import pytest

from kvplan.core.roles import Role
from kvplan.specs.gguf.names import place, role

ROLES: dict[Role, tuple[str, ...]] = {
    "embedding": ("token_embd.weight", "position_embd.weight", "token_types.weight", "per_layer_token_embd.weight"),
    "lm_head": ("output.weight", "output.bias"),
    "norm": (
        *("output_norm.weight", "output_norm.bias", "token_embd_norm.weight", "attn_norm.weight", "attn_norm_2.bias", "ffn_norm.weight"),
        *("attn_q_norm.weight", "attn_kv_a_norm.weight", "post_ffw_norm_1.weight", "ssm_norm.weight", "time_mix_ln.bias"),
        *("layer_output_norm.weight", "ffn_norm_exps.weight", "nextn.shared_head_norm.weight", "indexer.k_norm.bias"),
        *("per_layer_proj_norm.weight", "altup_router_norm.weight", "ssm_dt_norm", "ffn_sub_norm.weight"),
    ),
    "attention": ("attn_q.weight", "attn_qkv.bias", "attn_sinks.weight", "attn_k_b.weight", "attn_output.weight", "cross_attn_q.weight"),
    "indexer": ("indexer.attn_k.weight", "indexer_compressor_kv.weight"),
    "mixer": ("ssm_in.weight", "ssm_a", "ssm_d", "ssm_dt.bias", "time_mix_key.weight", "shortconv.conv.weight"),
    "mlp": ("ffn_gate.weight", "ffn_down.bias", "ffn.act.weight", "channel_mix_value.weight"),
    "router": ("ffn_gate_inp.weight", "exp_probs_b.bias", "ffn_gate_tid2eid.weight"),
    "expert": ("ffn_gate_exps.weight", "ffn_down_exps.bias", "ffn_up_chexps.weight", "ffn_gate.12.weight", "ffn_gate_up_exps.weight"),
    "shared_expert": ("ffn_up_shexp.weight", "ffn_gate_inp_shexp.weight"),
    "vision": ("vis_attn_qkv.weight", "v.blk.0.attn_norm.weight"),
    "audio": ("a.blk.0.attn_q.weight",),
    "projector": ("mm.0.weight",),
    "other": ("rope_freqs.weight", "rope_factors_long.weight", "altup_proj.weight", "inp_gate.weight", "hc_attn_fn.weight", "unheard_of"),
}


@pytest.mark.parametrize(("due", "names"), ROLES.items())
def test_roles(due: Role, names: tuple[str, ...]) -> None:
    assert {name: role(name) for name in names} == dict.fromkeys(names, due)


def test_places() -> None:
    assert place("blk.12.attn_q.weight") == ("blk", 12, "attn_q.weight")
    assert place("dec.blk.0.cross_attn_q.weight") == ("dec.blk", 0, "cross_attn_q.weight")
    assert place("enc.output_norm.weight") == ("", -1, "enc.output_norm.weight")
    assert place("blk.x.attn_q.weight") == ("", -1, "blk.x.attn_q.weight")
    assert place(f"blk.{'9' * 5000}.attn_q.weight").block == -1
