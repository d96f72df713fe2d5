"""Drafters and devices, as vllm 0.33.0 config/speculative.py, config/parallel.py and config/model.py settle them."""

import pytest

from kvplan.core.engine import Flag
from kvplan.core.errors import RequestError
from kvplan.core.mixers.full import FullAttention
from kvplan.core.model import LayerRun, ModelSpec
from kvplan.core.splitting import divides
from kvplan.engines.vllm.drafting import depth, next_layers
from kvplan.engines.vllm.engine import ENGINE
from kvplan.engines.vllm.settings import Speculative
from tests.engines.vllm.resolving import GEMMA, LATENT, LLAMA, MIXTRAL, WHISPER, card, chosen, settled


@pytest.mark.parametrize(
    ("flags", "version", "expected"),
    [
        ("", "0.33.0", None),
        ('--speculative-config \'{"method": "mtp", "num_speculative_tokens": 2}\'', "0.33.0", Speculative("mtp", 2, None, 1)),
        ('--speculative-config \'{"method": "deepseek_mtp"}\'', "0.33.0", Speculative("mtp", 1, None, 1)),
        ("--spec-model x/EAGLE3-y --spec-tokens 3 -tp 2", "0.33.0", Speculative("eagle3", 3, "x/EAGLE3-y", 2)),
        ("--spec-model x/eagle-y --spec-tokens 3", "0.33.0", Speculative("eagle", 3, "x/eagle-y", 1)),
        ("--spec-model x/y --spec-tokens 3", "0.33.0", Speculative("draft_model", 3, "x/y", 1)),
        ("--spec-model ngram --spec-tokens 3", "0.33.0", Speculative("ngram", 3, None, 1)),
        ('--speculative-config \'{"method": "[ngram]", "num-speculative-tokens": 3}\'', "0.33.0", Speculative("ngram", 3, None, 1)),
        (
            '-tp 4 --speculative-config \'{"model": "x", "num_speculative_tokens": 1, "draft_tensor_parallel_size": 1}\'',
            "0.33.0",
            Speculative("draft_model", 1, "x", 1),
        ),
        ("--speculative-model [ngram] --num-speculative-tokens 5", "0.6.6", Speculative("ngram", 5, None, 1)),
        (
            "--speculative-model x --num-speculative-tokens 5 -spec-draft-tp 2 -tp 4",
            "0.6.6",
            Speculative("draft_model", 5, "x", 2),
        ),
    ],
)
def test_speculation(flags: str, version: str, expected: Speculative | None) -> None:
    model = LLAMA._replace(mtp=(LLAMA.runs[0]._replace(n_layers=1),))
    assert settled(flags, version, model, node=card("h100-sxm", 4)).speculative == expected


@pytest.mark.parametrize(
    ("architecture", "mixers", "built", "tokens"),
    [
        pytest.param("LlamaForCausalLM", True, 3, 3, id="all"),
        pytest.param("MiMoV2FlashForCausalLM", True, 1, 1, id="the first alone"),
        pytest.param("LlamaForCausalLM", False, 3, 0, id="layers that mix no tokens predict none"),
    ],
)
def test_next_token_layers(architecture: str, built: int, tokens: int, *, mixers: bool) -> None:
    layer = LLAMA.runs[0].layer if mixers else LLAMA.runs[0].layer._replace(mixers=())
    model = LLAMA._replace(architecture=architecture, mtp=(LayerRun(3, layer),))
    assert sum(run.n_layers for run in next_layers(model)) == built
    assert depth(model) == tokens


def test_a_stage_holds_a_layer() -> None:
    with pytest.raises(RequestError, match="32 layers to share out"):
        settled("-pp 33")


def test_next_token_layers_may_lie_in_another_checkpoint() -> None:
    said = '--speculative-config \'{"method": "mtp", "model": "x/assistant", "num_speculative_tokens": 2}\''
    assert settled(said).speculative == Speculative("mtp", 2, "x/assistant", 1)
    assert settled(said, model=LLAMA._replace(mtp=LLAMA.runs)).speculative == Speculative("mtp", 2, None, 1)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--spec-tokens 3 --spec-method eagle3", "num_speculative_tokens was provided but without speculative model"),
        ("--spec-model x", "num_speculative_tokens must be provided with speculative model"),
        ('--speculative-config \'{"method": "mtp"}\'', "num_speculative_tokens must be provided"),
        ('--spec-method mtp --speculative-config \'{"method": "mtp"}\'', "--spec-method and --speculative-config['method'] are mutually"),
        ('--speculative-config \'{"model": "x", "num_speculative_tokens": 0}\'', "--speculative-config.num_speculative_tokens"),
        ("--speculative-config '{\"model\": 3}'", "--speculative-config.model: Input should be a valid string, found 3"),
        ("--attention-config '{\"backend\": 3}'", "--attention-config.backend"),
    ],
)
def test_speculation_that_vllm_refuses(flags: str, words: str) -> None:
    with pytest.raises(RequestError) as refused:
        settled(flags)
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("model", "n_gpus", "said", "tp"),
    [
        (LLAMA, 8, "", 8),
        (LLAMA, 3, "", 2),
        (LLAMA, 8, "pipeline-parallel-size=2", 4),
        (LLAMA, 8, "data-parallel-size=2 pipeline-parallel-size=2", 2),
        (LLAMA, 8, "tensor-parallel-size=2", 2),
        (LLAMA, 1, "pipeline-parallel-size=2", 1),
        (GEMMA, 8, "", 4),
        (WHISPER, 8, "", 5),
        (MIXTRAL, 7, "", 4),
    ],
)
def test_without_a_word_the_largest_split_that_works(model: ModelSpec, n_gpus: int, said: str, tp: int) -> None:
    flags = [as_flag(pair) for pair in said.split()]
    assert chosen(model, card("h100-sxm", n_gpus), *flags).tp == tp


def as_flag(pair: str) -> Flag:
    name, _, value = pair.partition("=")
    return Flag(name, value)


def test_a_command_without_a_word_uses_one_card() -> None:
    assert settled("", node=card("h100-sxm", 8)).tp == 1


def test_heads_that_repeat_must_do_so_evenly() -> None:
    layer = LLAMA.runs[0].layer
    heads = FullAttention(n_heads=40, n_kv_heads=10, head_dim=128, v_head_dim=128)
    model = LLAMA._replace(runs=(LLAMA.runs[0]._replace(layer=layer._replace(mixers=(heads,))),))
    assert [tp for tp in range(1, 11) if divides(model, tp)] == [1, 2]  # 11008 is no multiple of 5
    assert [tp for tp in (2, 4, 8, 16) if divides(LATENT, tp)] == [2, 4, 8, 16]


@pytest.mark.parametrize(("said", "experts"), [("ep=1", False), ("ep=4", True), ("", False)])
def test_experts_over_all_devices_or_none(said: str, experts: bool) -> None:  # noqa: FBT001  # a row
    flags = [as_flag(pair) for pair in ["tensor-parallel-size=4", *said.split()]]
    assert chosen(MIXTRAL, card("h100-sxm", 4), *flags).expert_parallel is experts
    with pytest.raises(RequestError, match="--ep 3: vLLM splits experts over all 4 devices"):
        chosen(MIXTRAL, card("h100-sxm", 4), *flags, Flag("ep", "3"))


@pytest.mark.parametrize(
    ("flags", "draft"), [("--spec-method mtp", None), ("--spec-model x/y --spec-tokens 3", "x/y"), ("--spec-model ngram", None), ("", None)]
)
def test_the_model_that_drafts_is_known_before_any_is_loaded(flags: str, draft: str | None) -> None:
    assert ENGINE.parse(["vllm", "serve", "m", *flags.split()], {}, "").draft == draft
