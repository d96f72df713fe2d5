"""Each proposed change really cures, by the estimator; and they come in the order in which they are to be tried."""

from pathlib import Path

from kvplan.estimator import Options, answer
from kvplan.explainer.case import Said
from kvplan.explainer.explanation import explain, of_blocks
from tests.running import Run

LOGS = Path(__file__).parent / "logs"
ARGS = "non-default args: {{'model': 'meta-llama/Llama-3.1-8B-Instruct', {}}}\n"


def test_what_is_proposed_fits() -> None:
    found = explain(str(LOGS / "vllm-0.11.0-kubernetes-pool.log"))
    assert found.cause == "KV600"
    assert found.fixes[0].flag == "--max-model-len"
    base = ("vllm", "serve", "llama-3.1-8b")
    assert answer(Options(command=base, engine="vllm@0.11.0", gpu="l4")).refusals
    for fix in found.fixes:
        n_gpus = int(fix.after) if fix.flag == "--tensor-parallel-size" else 1
        cured = answer(Options(command=(*base, fix.flag, fix.after), engine="vllm@0.11.0", gpu=f"l4:{n_gpus}"))
        assert not cured.refusals
        assert cured.verdict in ("fits", "tight")
        assert fix.effect_bytes is not None
        assert fix.effect_bytes < 0


def test_a_model_too_large_is_split_and_not_shortened() -> None:
    log = ARGS.format("'max_model_len': 4096").replace("meta-llama/Llama-3.1-8B-Instruct", "llama-2-13b") + (
        "Free memory on device cuda:0 (21.80/22.03 GiB) on startup. Desired GPU memory\n"
        "in load_model\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 112.00 MiB. "
        "GPU 0 has a total capacity of 22.03 GiB of "
        "which 10.00 MiB is free.\n"
    )
    found = of_blocks([log.encode()], Said(gpu="l4"))
    assert found.cause == "KV607"
    assert [(fix.flag, fix.before, fix.after) for fix in found.fixes] == [("--tensor-parallel-size", "1", "2")]


def test_the_user_may_name_what_the_log_does_not(kvplan: Run, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "INFO [gpu_model_runner.py:1] Model loading took 14.99 GiB memory\nGPU KV cache size: 476,016 tokens\n", encoding="utf-8"
    )
    bare, named = kvplan("explain", str(log)), kvplan("explain", str(log), "--model", "llama-3.1-8b", "--gpu", "h100-sxm")
    assert "14.99 GiB   14.99 GiB" not in bare.out
    assert "14.99 GiB  14.99 GiB" in named.out


def test_files_that_can_not_be_read(kvplan: Run, tmp_path: Path) -> None:
    ran = kvplan("explain", str(tmp_path / "none.log"))
    assert (ran.code, ran.out) == (2, "")
    assert "No such file" in ran.err
    assert kvplan("explain").code == 2
    assert kvplan("explain", str(tmp_path)).code == 2


def test_markdown_and_nothing_known(kvplan: Run, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("hello\n", encoding="utf-8")
    assert kvplan("explain", str(log)).out == "no known engine · the log does not show how it ended\n"
    assert kvplan("explain", str(LOGS / "vllm-upgrade-fails.log"), "--format", "md").out.startswith("**vllm 0.19.0")
