"""Names of modules in lists of a quantization: whole ones, globs and regular expressions, in the spellings of checkpoints."""

import pytest

from kvplan.core.model import WeightGroup
from kvplan.specs.module_names import Named, Site


def site(name: str, layer: int | None, mtp: int | None = None) -> Site:
    return Site(WeightGroup(f"{name}.weight", "mlp", 8, 8), layer, mtp)


@pytest.mark.parametrize(
    ("pattern", "name", "layer", "covers"),
    [
        ("model.layers.1.self_attn.q_proj", "self_attn.q_proj", 1, True),
        ("model.layers.1.self_attn.q_proj", "self_attn.q_proj", 11, False),
        ("model.layers.1.self_attn", "self_attn.q_proj", 1, True),
        ("model.layers.1*", "mlp.up_proj", 11, True),  # as fnmatch has it
        ("model.layers.1.*", "mlp.up_proj", 11, False),
        ("model.layers.*.mlp.gate", "mlp.gate_proj", 2, False),
        ("gate", "mlp.gate", 2, True),
        ("gate", "mlp.gate_proj", 2, False),
        ("*.attn.*", "self_attn.q_proj", 0, True),
        ("*self_attn*", "linear_attn.in_proj", 0, False),
        ("backbone.layers.4.mixer.q_proj", "mixer.q_proj", 4, True),
        ("language_model.model.layers.0.block_sparse_moe.experts.7.w2", "mlp.experts.down_proj", 0, True),
        ("layers.0.ffn.experts", "mlp.experts.up_proj", 0, True),
        ("layers.0.ffn.experts", "mlp.shared_experts.up_proj", 0, False),
        ("re:.*shared_experts.*", "mlp.shared_experts.up_proj", 0, True),
        (r"re:.*mlp\.(gate|up|down)_proj.*", "mlp.experts.gate_proj", 0, False),
        (r"re:^model\.layers\.3\..*", "mlp.up_proj", 3, True),
        (r"re:model\.layers\.\d+\.mlp\.experts\.\d+\.up_proj", "mlp.experts.up_proj", 3, True),
        ("lm_head", "lm_head", None, True),
        ("model.embed_tokens", "embed_tokens", None, True),
        ("vision_model.layers.0.self_attn.q_proj", "self_attn.q_proj", 0, False),
    ],
)
def test_names(pattern: str, name: str, layer: int | None, covers: bool) -> None:  # noqa: FBT001  # a column of the table
    assert Named([pattern]).cover(site(name, layer)) is covers


@pytest.mark.parametrize(
    ("pattern", "layer", "covers"),
    [("model.layers.3.mlp", 3, True), ("mtp*", 3, True), ("mtp.layers.0*", 3, True), ("mtp.*", 3, True), ("model.layers.0.mlp", 3, False)],
)
def test_next_token_layers_have_two_names(pattern: str, layer: int, covers: bool) -> None:  # noqa: FBT001  # a column of the table
    assert Named([pattern]).cover(site("mlp.up_proj", layer, mtp=0)) is covers
