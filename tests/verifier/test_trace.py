"""Traces against real runs on the processor, and what a pretended GPU changes."""

import resource
from pathlib import Path

import pytest

from kvplan.hardware import catalog
from kvplan.verifier import verify
from kvplan.verifier.record import Device, Job, Phase, Record, Snapshot
from kvplan.verifier.unseen import notes
from tests.verifier.families import FAMILIES
from tests.verifier.models import LLAMA, write

torch = pytest.importorskip("torch", exc_type=ImportError)
pytest.importorskip("transformers", exc_type=ImportError)

from kvplan.verifier.child import fake, passes  # noqa: E402 - needs torch
from kvplan.verifier.child.lifetimes import Lifetimes  # noqa: E402
from kvplan.verifier.child.meters import CpuMeter, Meter  # noqa: E402
from kvplan.verifier.child.tracing import TraceMeter  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

PROMPT = 40


def ran(family: str, meter: Meter, *, n_steps: int = 3, dtype: str = "bfloat16", cache: str = "dynamic") -> Record:
    job = Job(family, FAMILIES[family], dtype, PROMPT + n_steps, 2, PROMPT, cache=cache)
    record = Record(job, "ran", None, "", {}, Device("", "", None, None, None), Snapshot())
    for reached in passes.run(record, meter):
        record = reached
    return record


def figures(record: Record) -> list[object]:
    """All that must not differ: what is held and the peak, after loading and in both phases."""
    assert record.loaded
    return [record.loaded, *(seen(phase) for phase in (record.prefill, record.decode) if phase)]


def seen(phase: Phase) -> tuple[object, ...]:
    return phase.n_steps, phase.kv_bytes, phase.state_bytes, phase.memory


def live(record: Record) -> list[tuple[int | None, int | None]]:
    """Bytes of tensors alone, whatever an allocator makes of them."""
    memories = [record.loaded, *(phase.memory for phase in (record.prefill, record.decode) if phase)]
    return [(memory.allocated_bytes, memory.peak_allocated_bytes) for memory in memories if memory]


@pytest.mark.parametrize(
    ("family", "cache"),
    [*((family, "dynamic") for family in FAMILIES), *((family, "static") for family in ("llama: grouped queries", "mistral: a window"))],
)
def test_a_trace_is_a_real_run_to_the_byte(family: str, cache: str) -> None:
    traced = figures(ran(family, TraceMeter("cpu"), cache=cache))
    assert len(traced) == 3
    assert traced == figures(ran(family, CpuMeter(), cache=cache))


@pytest.mark.parametrize("family", ["llama: grouped queries", "mixtral: experts"])
def test_in_float32_too(family: str) -> None:
    traced = figures(ran(family, TraceMeter("cpu"), dtype="float32"))
    assert traced == figures(ran(family, CpuMeter(), dtype="float32"))


@pytest.mark.parametrize(
    ("family", "cache"),
    [
        ("gemma3: windows in five layers of six", "dynamic"),
        ("gemma3: windows in five layers of six", "static"),
        ("granitemoehybrid: states and attention", "dynamic"),
    ],
)
def test_the_steps_that_are_left_out_would_not_matter(family: str, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = ran(family, TraceMeter(), n_steps=20, cache=cache)
    monkeypatch.setattr(passes, "LONG", 20)
    whole = ran(family, TraceMeter(), n_steps=20, cache=cache)
    assert live(short) == live(whole)
    assert short.decode
    assert whole.decode
    assert seen(short.decode)[:3] == seen(whole.decode)[:3]
    assert short.decode.memory.peak_reserved_bytes == whole.decode.memory.peak_reserved_bytes  # of small blocks


def test_experts_are_gathered_for_each_token_on_a_gpu_alone() -> None:
    on_gpu, on_cpu = (ran("mixtral: experts", TraceMeter(kind)) for kind in ("cuda", "cpu"))
    before = live(on_gpu)[0][0] or 0
    assert [(b - before) for _, b in live(on_gpu)[1:2] if b] == [(b - (live(on_cpu)[0][0] or 0)) for _, b in live(on_cpu)[1:2] if b]
    assert before - (live(on_cpu)[0][0] or 0) == 8519680  # cuBLAS's workspace on compute capability 8.0
    assert on_gpu.decode
    assert on_cpu.decode
    gathered = 2 * 2 * 3 * 96 * 64 * 2  # sequences · experts of a token · matrices · their sides · bytes
    peaks = [record.decode.memory.peak_allocated_bytes or 0 for record in (on_gpu, on_cpu) if record.decode]
    assert gathered < peaks[0] - peaks[1] - 8519680 + 8192 < gathered + 16384


def test_without_a_table_of_guards_a_processor_is_pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    monkeypatch.setattr(fake, "_GUARDS", "no such symbol")
    meter = TraceMeter()
    assert meter.torch_device == "cpu"
    assert meter.device() == Device("trace", "a processor", None, None, None)
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    assert TraceMeter().torch_device == "cuda:0"


def test_storages_are_counted_once_and_until_they_die() -> None:
    with Lifetimes("cpu") as live:
        first = torch.zeros(100)
        view = first[10:]
        pair = torch.ones(50).sort()
        assert live.live_bytes == 400 + 200 + 400
        del first
        assert live.live_bytes == 1000
        del view
        assert live.live_bytes == 600
        assert live.peak_bytes == 400 + 200 + 200 + 400  # what was sorted, too
        live.restart()
        assert live.peak_bytes == 600
        torch.zeros(10, device="meta")
        del pair
    assert (live.live_bytes, live.peak_bytes) == (0, 600)


def test_a_number_that_nobody_knows_is_not_guessed() -> None:
    with fake.world(fake.Traced("cpu"), None, None):
        ones = torch.ones(3)
        assert bool((ones > 0).all())
        with pytest.raises(Exception, match="local_scalar_dense"):
            ones.sum().item()


def test_weights_drawn_until_they_lie_inside_bounds_are_drawn_once() -> None:
    with fake.world(fake.Traced("cpu"), None, None):
        weights = torch.empty(3)
        assert torch.nn.init.trunc_normal_(weights) is weights


def test_a_model_too_large_for_any_machine_beside_its_estimate() -> None:
    found = verify("llama-3-70b", ctx="32k", batch="8", backend="trace", timeout_s=240)
    assert found.ok, found.terms
    assert {(term.term, term.phase) for term in found.terms} == {
        ("weights", "load"), ("kv_cache", "decode"), ("peak", "prefill"), ("peak", "decode"), ("activations", "prefill"),
        ("reserved", "prefill"), ("reserved", "decode"), ("reserved_expandable", "prefill"), ("reserved_expandable", "decode"),
    }  # fmt: skip
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 3 * 2**20  # KiB


def test_buffers_that_are_saved_count_as_weights(tmp_path: Path) -> None:
    found = verify(write(tmp_path, FAMILIES["deepseek_v3: latent attention"] | {"dtype": "bfloat16"}), ctx=24, backend="trace")
    assert found.record.model
    assert found.record.model.saved_buffer_bytes == 2 * 8 * 4  # layers with experts · experts · bytes
    assert found.ok, found.terms


def test_a_trace_of_part_of_a_model_is_recorded(tmp_path: Path) -> None:
    found = verify(write(tmp_path, LLAMA), ctx=24, prompt=20, backend="trace", n_layers=1, record_in=tmp_path, timeout_s=240)
    assert found.ok, found.terms
    assert found.saved[0].name.startswith("trace_")


def test_keys_of_images_are_left_apart(tmp_path: Path) -> None:
    text = {
        "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4,
        "num_key_value_heads": 2, "cross_attention_layers": [1], "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
        "pad_token_id": 0, "model_type": "mllama_text_model",
    }  # fmt: skip
    vision = {
        "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_global_layers": 1, "attention_heads": 2, "image_size": 28,
        "patch_size": 14, "max_num_tiles": 4, "intermediate_layers_indices": [0], "vision_output_dim": 64,
        "model_type": "mllama_vision_model",
    }  # fmt: skip
    config: dict[str, object] = {"model_type": "mllama", "architectures": ["MllamaForConditionalGeneration"], "dtype": "bfloat16"}
    config |= {"text_config": text, "vision_config": vision}
    found = verify(write(tmp_path, config), ctx=24, batch=2, backend="trace", timeout_s=240)
    kept = {term.term: term for term in found.terms}["kv_cache"]
    assert found.ok, found.terms
    assert kept.measured_bytes == 2 * 2 * 24 * 2 * 2 * 16 * 2  # keys and values · sequences · tokens · layers · heads · width · bytes
    assert any("left apart" in note for note in notes(found))


@pytest.mark.parametrize(("gpu", "kernels"), [("t4", "plain products"), ("a100-80", "flash"), ("h100-sxm", "cuDNN"), ("mi300x", "flash")])
def test_the_path_is_that_of_the_gpu(gpu: str, kernels: str, tmp_path: Path) -> None:
    found = verify(write(tmp_path, FAMILIES["qwen3: norms of queries and keys"] | {"dtype": "bfloat16"}), ctx=512, gpu=gpu, backend="trace")
    assert found.ok, found.terms
    assert found.record.device.name == catalog.find(gpu).name
    assert f"attention: prefill {kernels} · decode {kernels}" in notes(found)
    assert (gpu == "mi300x") == any("no GPU of NVIDIA was named" in note for note in notes(found))
    assert {term.term for term in found.terms} >= {"workspace", "allocator", "reserved", "reserved_expandable"}
