import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvplan.render.schema import EstimateAnswer, schema_text
from tests.cli.configs import LLAMA
from tests.running import Run

Config = Callable[..., str]

SCHEMA = Path(__file__).parent.parent / "cases" / "estimate" / "schema.json"
CONFIG = LLAMA | {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 128, "torch_dtype": "float16"}


@pytest.fixture
def config(tmp_path: Path) -> Config:
    def write(**changes: object) -> str:
        path = tmp_path / "config.json"
        path.write_text(json.dumps({key: value for key, value in {**CONFIG, **changes}.items() if value != "gone"}))
        return str(path)

    return write


def test_llama_2_7b_to_the_byte(kvplan: Run) -> None:
    answer = json.loads(kvplan("estimate", "llama-2-7b", "--ctx", "4096", "--batch", "8", "--json").out)
    # Touvron et al. 2023, arXiv:2307.09288: 32 layers, 32 heads of 128, fp16
    assert answer["kv"]["ideal_bytes"] == 2 * 32 * 32 * 128 * 2 * 4096 * 8 == 17_179_869_184
    assert sum(entry["bytes"] for entry in answer["entries"] if entry["term"] == "weights") == 13_476_831_232
    assert answer["model"]["n_params"] == 6_738_415_616


@pytest.mark.parametrize(
    ("model", "kept"),
    [
        pytest.param("llama-2-7b", 2 * 32 * 32 * 128 * 4096, id="one K and V a head"),
        pytest.param("qwen2.5-7b", 2 * 28 * 4 * 128 * 4096, id="4 KV heads for 28"),
        pytest.param("gemma-3-27b", 2 * 16 * 128 * (10 * 4096 + 52 * 1024), id="10 layers see all, 52 a window"),
        pytest.param("deepseek-v3", 61 * (512 + 64) * 4096, id="one latent"),
        pytest.param("qwen3-30b-a3b", 2 * 48 * 4 * 128 * 4096, id="experts keep nothing"),
        pytest.param("mixtral-8x7b", 2 * 32 * 8 * 128 * 4096, id="no window since v0.1's config"),
    ],
)
def test_what_the_mathematics_must_keep(kvplan: Run, model: str, kept: int) -> None:
    # layers and heads as in each model's config.json; two bytes an element, eight sequences of 4096 tokens
    answer = json.loads(kvplan("estimate", model, "--ctx", "4096", "--batch", "8", "--json").out)
    assert answer["kv"]["ideal_bytes"] == 2 * 8 * kept


def test_windows_hold_the_whole_prompt_at_first(kvplan: Run) -> None:
    # transformers 5.24 cache_utils.py: a sliding layer's keys are a view into the prompt's storage until the first decode step
    whole, less_one = (
        json.loads(kvplan("estimate", "gemma-3-27b", "--ctx", "4096", "--batch", "8", "--prompt", prompt, "--json").out)["kv"][
            "reserved_bytes"
        ]
        for prompt in ("4096", "4095")
    )
    assert (whole, less_one) == (62 * 2 * 16 * 128 * 2 * 8 * 4096, 62 * 2 * 16 * 128 * 2 * 8 * 4095) == (16_642_998_272, 16_638_935_040)


def test_every_answer_holds_to_the_schema(kvplan: Run, config: Config) -> None:
    for argv in (["llama-2-7b"], ["llama-2-7b", "--gpu", "h100-sxm"], [config(), "--budget", "24GiB"], [config(use_cache=False)]):
        text = kvplan("estimate", *argv, "--json").out
        EstimateAnswer.model_validate_json(text)


def test_the_schema_is_pinned(kvplan: Run, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        SCHEMA.write_text(schema_text())
    assert kvplan("estimate", "--json-schema").out == schema_text() == SCHEMA.read_text()


def test_totals_are_sums_of_entries(kvplan: Run) -> None:
    answer = json.loads(kvplan("estimate", "llama-2-7b", "--gpu", "l40s", "--json").out)
    for place in answer["places"]:
        assert place["total_bytes"] == sum(entry["bytes"] for entry in answer["entries"] if entry["place"] == place["id"])


def test_the_inverse_is_exact(kvplan: Run) -> None:
    capacity = json.loads(kvplan("estimate", "llama-2-7b", "--budget", "40GiB", "--ctx", "1000", "--json").out)["capacity"]
    batch = capacity["max_batch"]
    fits, beyond = (
        json.loads(kvplan("estimate", "llama-2-7b", "--budget", "40GiB", "--ctx", "1000", "--batch", str(n), "--json").out)["verdict"]
        for n in (batch, batch + 1)
    )
    assert (fits, beyond != "fits") == ("fits", True)


def test_ctx_defaults_to_the_models_limit_and_says_so(kvplan: Run, config: Config) -> None:
    ran = kvplan("estimate", config())
    assert "128 tokens × 1" in ran.out
    assert "note[KV200]" in ran.err


@pytest.mark.parametrize(
    ("argv", "rule"),
    [
        pytest.param(["--ctx", "200"], "KV201", id="beyond the model's positions"),
        pytest.param([], "KV202", id="the file turns the cache off"),
    ],
)
def test_findings(kvplan: Run, config: Config, argv: list[str], rule: str) -> None:
    answer = json.loads(kvplan("estimate", config(use_cache=False), *argv, "--json").out)
    assert rule in {finding["rule"] for finding in answer["findings"]}


def test_heads_that_cannot_be_rotated_in_pairs(kvplan: Run, config: Config) -> None:
    assert "warning[KV204]: heads of 7 channels can't be rotated in pairs" in kvplan("estimate", config(head_dim=7)).err
    assert "KV204" not in kvplan("estimate", config(head_dim=6)).err


def test_generation_config_can_turn_the_cache_off(kvplan: Run, config: Config) -> None:
    path = Path(config())
    path.with_name("generation_config.json").write_text('{"use_cache": false}')
    answer = json.loads(kvplan("estimate", str(path), "--json").out)
    (finding,) = [finding for finding in answer["findings"] if finding["rule"] == "KV202"]
    assert "generation_config.json" in finding["message"]


def test_require_fit(kvplan: Run) -> None:
    assert kvplan("estimate", "llama-2-7b", "--budget", "8GiB", "--require-fit").code == 1
    assert kvplan("estimate", "llama-2-7b", "--budget", "80GiB", "--require-fit").code == 0


def test_what_the_engine_refuses_does_not_fit(kvplan: Run) -> None:
    asked = ("--gpu", "h100-sxm", "--require-fit", "--", "vllm", "serve", "llama-3.1-8b", "-tp", "2")
    ran = kvplan("estimate", *asked)
    assert ran.code == 1
    assert "does not start; by memory alone it fits on h100-sxm" in ran.out


def test_a_printed_command_can_be_pasted_back(kvplan: Run) -> None:
    first = json.loads(kvplan("estimate", "llama-2-7b", "--dtype", "bfloat16", "--json").out)
    again = json.loads(kvplan("estimate", "--json", "--", *first["engine"]["command"]).out)
    assert again["engine"] == first["engine"]
    assert again["total_bytes"] == first["total_bytes"]


def test_a_command_may_stand_in_a_file(kvplan: Run, tmp_path: Path) -> None:
    file = tmp_path / "serve.sh"
    file.write_text("vllm serve llama-2-7b \\\n  --max-model-len 2K  # two KiB of tokens\n")
    answer = json.loads(kvplan("estimate", "--command-file", str(file), "--json").out)
    assert (answer["engine"]["name"], answer["workload"]["ctx_tokens"]) == ("vllm", 2048)
    assert "there is a command after -- already" in kvplan("estimate", "--command-file", str(file), "--", "vllm", "serve", "m").err
    file.write_text("vllm serve 'm")
    assert "hint: close the quotation" in kvplan("estimate", "--command-file", str(file)).err


def test_the_name_of_a_program_alone_is_its_engine(kvplan: Run) -> None:
    named = kvplan("estimate", "llama-2-7b", "--gpu", "h100-sxm", "--json", "--", "vllm")
    asked = kvplan("estimate", "llama-2-7b", "--gpu", "h100-sxm", "--json", "--engine", "vllm")
    assert json.loads(named.out) == json.loads(asked.out)
