"""The cache as the answer shows it."""

from kvplan.core.workload import Workload
from tests.engines.transformers.running import deployment, model


def test_falcon_caches_a_copy_for_each_query_head() -> None:
    config: dict[str, object] = {
        "model_type": "falcon",
        "vocab_size": 100,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_kv_heads": 2,
        "new_decoder_architecture": True,
    }
    found = deployment(model(config)).kv(Workload(10, 1, 9))
    assert found.ideal_bytes == 2 * 2 * 2 * 16 * 2 * 10
    assert found.reserved_bytes == 2 * found.ideal_bytes
    assert found.groups[0].bytes_per_token_per_layer == 2 * 4 * 16 * 2


def test_states_are_shown_apart() -> None:
    config: dict[str, object] = {"model_type": "mamba", "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 16}
    deployed = deployment(model(config))
    found = deployed.kv(Workload(10, 3, 9))
    per_layer = 4 * 128 * 16 + 2 * 128 * 4  # transformers 5.24 modeling_mamba.py: float32 state, 4 columns of convolution
    assert found.state_bytes_per_sequence == 2 * per_layer
    assert found.reserved_bytes == found.ideal_bytes == 3 * 2 * per_layer
    assert found.groups[0].kind == "recurrent"
    assert {entry.term for entry in deployed.entries(Workload(10, 3, 9))} >= {"recurrent_state"}


def test_ideal_of_a_quantized_cache_is_what_its_codes_take() -> None:
    deployed = deployment(model(), kv_dtype="int8")
    found = deployed.kv(Workload(40, 1, 30))
    assert found.ideal_bytes == (192 + 3 * 2 * 4) * 40
