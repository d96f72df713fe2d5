"""What the profile run finds beside the weights: the peak of one forward pass and sampler, what CUDA takes apart from
PyTorch, and CUDA graphs. Sizes that nobody can compute are tables, with the logs behind them.

Rows are by the number of field-vllm's section 3: llm-d planner's accuracy logs (vLLM 0.19.0, 59 runs on H100), vLLM issues.
"""

from typing import NamedTuple

from kvplan.core.device import Gpu
from kvplan.core.dtypes import DTYPES
from kvplan.core.ledger import ZERO, Basis, Interval
from kvplan.core.model import ModelSpec
from kvplan.core.units import GIB
from kvplan.engines.vllm.rules import Rules
from kvplan.engines.vllm.settings import Settings


def _gib(low: float, best: float, high: float) -> Interval:
    return Interval(int(low * GIB), int(best * GIB), int(high * GIB))


class Overheads(NamedTuple):
    """Measured overheads of a range of versions.

    ``sampler`` are bytes for each sequence and word of the vocabulary beside the logits; ``non_torch`` what CUDA and NCCL
    take while the model is profiled, by tensor parallelism 1, 2, and more; ``rows`` the independent readings behind them.
    """

    sampler: tuple[float, float, float]
    non_torch: tuple[Interval, Interval, Interval]
    rows: tuple[str, ...]

    @property
    def basis(self) -> Basis:
        """Calibrated with three independent readings or more."""
        return "calibrated" if len(self.rows) >= 3 else "modeled"


_V1_EARLY = (34.0, 35.5, 37.5)  # 9.39 float32 of each logit: Llama-3.1-8B 4.76, Qwen3-14B 5.64, gpt-oss-120b 7.38 GiB at 1024 sequences
OVERHEADS = {
    "0.6": Overheads((4.0, 12.0, 28.0), (_gib(0.0, 0.1, 0.6), _gib(0.1, 0.4, 1.2), _gib(0.1, 0.6, 2.3)), ("26 V0 logs, non-torch only",)),
    "0.9": Overheads(
        _V1_EARLY,
        (_gib(0.03, 0.1, 0.35), _gib(0.4, 1.0, 1.6), _gib(0.4, 1.2, 2.0)),
        ("0.10.2 Llama-3.1-8B H100", "0.15, 0.16 Qwen3-14B H100", "0.9.2 Qwen3-8B A100-40", "0.10.2 Qwen3-Next H200"),
    ),
    "0.17": Overheads(
        (11.8, 12.0, 12.6),
        (_gib(0.12, 0.25, 0.47), _gib(1.9, 2.07, 2.3), _gib(1.95, 2.14, 2.5)),
        ("llm-d 0.19.0: 43 runs at TP1, 11 at TP2, 5 at TP4", "0.17 Qwen3-14B H100", "0.18 Qwen3-14B H100"),
    ),
    "0.20": Overheads(
        (11.5, 12.3, 20.0), (_gib(0.12, 0.25, 0.6), _gib(0.9, 2.07, 2.4), _gib(0.9, 2.0, 2.6)), ("GLM-5 NVFP4 4 x B300", "0.22 Qwen2.5-7B")
    ),
    "0.29": Overheads(
        (12.0, 18.0, 24.0), (_gib(0.12, 0.3, 0.8), _gib(0.9, 2.07, 2.5), _gib(0.9, 2.1, 2.7)), ("V2 runner, Llama-3.1-8B A100",)
    ),
}

CONTEXT = {1: _gib(0.3, 0.51, 0.65), 2: _gib(0.5, 1.6, 2.1), 4: _gib(0.5, 1.7, 2.2)}
"""What is taken before the budget is looked at: 43 runs at TP1, 11 at TP2, 5 at TP4 of H100; other cards take less."""

_GRAPHS = (0.25, 0.85, 2.0)  # GiB estimated for 51 sizes, 59 runs: 0.49 to 1.69, gpt-oss with 83 sizes 1.3
_FULL_SIZES = 51
_VISION = (0.0, 0.15, 0.35)  # GiB of an encoder's outputs and features while the sampler runs, llm-d: Gemma-3, Kimi-VL, Scout
_FLASHINFER = 394 * 2**20
_TOKENS_HELD = (2, 3, 6)  # tensors of all tokens' hidden states that outlive the layers, in 49 dense runs 2.3 to 4.2
_LAYER = ((1, 2), (2, 2.5), (3, 3))  # hidden states and inner ones at a layer's widest moment: CodeLlama-34b 0.77 GiB, llm-d


class Profile(NamedTuple):
    """What one rank's profile run finds. ``graphs`` are what the budget leaves room for, ``later_graphs`` what is captured
    beyond it."""

    activations: Interval
    non_torch: Interval
    graphs: Interval
    later_graphs: Interval
    context: Interval
    basis: Basis

    @property
    def budgeted(self) -> Interval:
        """What is subtracted from the budget beside the weights."""
        return self.activations.plus(self.non_torch).plus(self.graphs)


def profile(model: ModelSpec, settings: Settings, rules: Rules, gpu: Gpu | None, *, stage: int, newer: bool) -> Profile:
    """The profile of one rank of pipeline stage ``stage``. Bounds widen for versions newer than every modeled one."""
    measured = OVERHEADS[rules.profile]
    size = min(_by_tp(settings.tp), 2)
    non_torch = measured.non_torch[size] if settings.pp == 1 or settings.tp > 1 else _gib(0.03, 0.07, 0.3)
    if gpu is not None and gpu.compute_capability is not None and gpu.compute_capability[0] == 10:
        non_torch = Interval(non_torch.low, non_torch.best + _FLASHINFER, non_torch.high + 2 * _FLASHINFER)
    graphs = _graphs(settings)
    inside = graphs if settings.estimates_graphs else ZERO
    context = CONTEXT[(1, 2, 4)[size]] if gpu is not None else ZERO
    activations = _activations(model, settings, measured, last=stage == settings.pp - 1)
    if newer:
        activations = Interval(activations.low * 3 // 4, activations.best, activations.high * 3 // 2)
    return Profile(activations, non_torch, inside, ZERO if settings.estimates_graphs else graphs, context, measured.basis)


def _by_tp(tp: int) -> int:
    return (tp > 1) + (tp > 2)


def _graphs(settings: Settings) -> Interval:
    """CUDA graphs of the captured batch sizes; none where everything runs eagerly."""
    if settings.enforce_eager or not settings.graph_sizes:
        return ZERO
    share = len(settings.graph_sizes) / _FULL_SIZES
    low, best, high = _GRAPHS
    return _gib(low * min(1, share), best * share, high * max(1, share))


def _activations(model: ModelSpec, settings: Settings, measured: Overheads, *, last: bool) -> Interval:
    """The larger of the layers' peak and the sampler's; what outlives the layers is there at both.

    The sampler works on float32 copies of one row of logits for each sequence: S · V · (12 + bytes of the model's type) in
    0.17 to 0.19. Source: vllm 0.33 v1/worker/gpu/model_runner.py, profile_run; the constants: OVERHEADS.
    """
    elem = DTYPES[settings.dtype].block_bytes
    row = settings.max_num_batched_tokens * model.hidden_size * elem
    n_rows = min(settings.max_num_batched_tokens, settings.max_num_seqs) if last else 0
    held = [n * row for n in _TOKENS_HELD]
    workspace = moe_workspace(model, settings)
    vision = [int(size * GIB) if _sees(model, settings) else 0 for size in _VISION]
    layers = [_layer_peak(model, settings, *share) for share in _LAYER]
    low, best, high = (
        workspace + seen + max(keeps + int(n_rows * model.vocab_size * (per_logit + elem)), layer)
        for keeps, seen, per_logit, layer in zip(held, vision, measured.sampler, layers, strict=True)
    )
    return Interval(low, best, high + high // 50)


def _sees(model: ModelSpec, settings: Settings) -> bool:
    """Whether an encoder runs while the model is profiled."""
    off = settings.skip_mm_profiling or settings.language_model_only
    off = off or (bool(settings.mm_limits) and not any(count for _, count in settings.mm_limits))
    return not off and any(group.role in ("vision", "audio") for group in model.weights)


def moe_workspace(model: ModelSpec, settings: Settings) -> int:
    """Bytes of the two buffers of the Triton experts, kept once taken: [T, k, max(I, H)] and [T, k, max(2·I, H)].

    Source: vllm 0.33 model_executor/layers/fused_moe/fused_moe.py, workspace_shapes. MXFP4's Triton kernels take none.
    """
    if model.quantization == "mxfp4":
        return 0
    elem = DTYPES[settings.dtype].block_bytes
    most = 0
    for run in model.runs:
        for ffn in run.layer.ffns:
            if ffn.kind == "moe":
                inner = ffn.intermediate if settings.expert_parallel else -(-ffn.intermediate // settings.tp)
                wide = max(inner, model.hidden_size) + max(2 * inner, model.hidden_size)
                most = max(most, settings.max_num_batched_tokens * ffn.n_active * wide * elem)
    return most


def _layer_peak(model: ModelSpec, settings: Settings, hidden: float, inner: float) -> int:
    """Bytes at the widest moment of a layer: so many tensors of the hidden states, so many of a dense feed-forward's width."""
    elem = DTYPES[settings.dtype].block_bytes
    widest = max((ffn.intermediate for run in model.runs for ffn in run.layer.ffns if ffn.kind == "dense"), default=0)
    return int(settings.max_num_batched_tokens * (hidden * model.hidden_size + inner * -(-widest // settings.tp)) * elem)
