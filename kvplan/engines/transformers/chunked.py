"""Prompts that generate() reads in chunks, and steps that read everything again because nothing is cached.

Source: transformers 5.24 generation/utils.py, _prefill (prefill_chunk_size) and _sample (use_cache).
"""

from kvplan.core.workload import Workload
from kvplan.engines.transformers.kernels import FLOAT32
from kvplan.engines.transformers.lines import Line, Point, peak
from kvplan.engines.transformers.passes import Device, decode, gathered
from kvplan.engines.transformers.plan import Plan
from kvplan.engines.transformers.widths import rate

IDS = 8  # int64


def resident(plan: Plan) -> tuple[int, int]:
    """Bytes that live through a pass for each position and for each token: ids, positions, tables of the rotation, masks of padding."""
    rotary = 2 * plan.form.rope_tables * (FLOAT32 if plan.form.rope_float32 else plan.elem_bytes) * (plan.form.rotary_dim or 0)
    position = IDS + rotary + (plan.elem_bytes * plan.hidden if plan.form.learned_positions and plan.enters else 0)
    entering = IDS if plan.enters else -plan.elem_bytes * plan.hidden  # every moment counts the embeddings, which live where they enter
    token = entering + rate(plan.form.resident, {}, plan.elem_bytes).token
    if plan.form.rope_each:
        position, token = position - rotary, token + rotary
    return (0, position + token + IDS) if plan.settings.padding == "left" else (position, token)


class Chunks:
    """Evaluates chunks after the first, which sees no cache; lines are built once for each pattern of full windows."""

    def __init__(self, plan: Plan, device: Device) -> None:
        """``plan`` says what is kept, ``device`` which kernels run."""
        self._plan, self._device = plan, device
        self._static = plan.settings.cache == "static"
        self._lines: dict[tuple[bool, ...], tuple[Line, ...]] = {}
        self._attending = tuple(dict.fromkeys(kind.rule for kind in plan.kinds if kind.widths["N"]))

    def peak(self, load: Workload) -> int:
        """The worst of the last chunk that is whole and the rest behind it."""
        n = self._plan.settings.chunk_tokens
        rest = load.prompt_tokens % n
        ends = ((load.prompt_tokens - rest, n), (load.prompt_tokens, rest))
        return max(self._at(load, end, size) for end, size in ends if size)

    def kept(self, load: Workload) -> tuple[int, ...]:
        """Entries held after the prompt: a window is a view into what it kept of the last chunk but one, and all of the last."""
        last = load.prompt_tokens % self._plan.settings.chunk_tokens or self._plan.settings.chunk_tokens
        return self._after(load, load.prompt_tokens, last)

    def _after(self, load: Workload, end: int, n: int) -> tuple[int, ...]:
        rules = self._plan.rules
        if self._static:
            return tuple([rule.kept(load.ctx_tokens) for rule in rules])
        return tuple([rule.kept(end - n) + n if rule.shrinks else end // rule.ratio for rule in rules])

    def _at(self, load: Workload, end: int, n: int) -> int:
        """Peak of the chunk of ``n`` tokens that ends the first ``end``."""
        plan, now = self._plan, self._after(load, end, n)
        full = tuple([rule.window is not None and end > rule.window for rule in plan.rules])
        lines = self._lines.get(full) or self._lines.setdefault(full, decode(plan, self._device, full, chunk=True))
        before = now if self._static else tuple([rule.kept(end - n) for rule in plan.rules])
        position, token = resident(plan)
        held = position * n + (token - IDS) * load.batch * n + IDS * load.batch * (load.prompt_tokens + n)
        held += load.batch * plan.logits_bytes  # of the chunk before
        return peak(lines, Point(load.batch, n, now, before, now)) + held + self._masks(load, n, now)

    def _masks(self, load: Workload, n: int, seen: tuple[int, ...]) -> int:
        """A mask of the chunk and all before it for each rule."""
        settings = self._plan.settings
        eager = settings.attn == "eager"
        each = self._plan.elem_bytes if eager or not self._plan.behavior.bool_masks else 1
        each *= load.batch if eager or settings.padding == "left" else 1
        return 0 if settings.attn == "flash_attention_2" else sum(each * n * seen[i] for i in self._attending)


def again(plan: Plan, load: Workload, attended: tuple[int, ...]) -> int:
    """What a step that reads all tokens again takes where it copies the weights of each token's experts."""
    none = (0,) * len(plan.rules)
    lines = [Line(moment, kind.rule, none, none) for kind in plan.kinds for moment in gathered(plan, kind)]
    position, token = resident(plan)
    held = position * load.prompt_tokens + token * load.batch * load.prompt_tokens
    return peak(lines, Point(load.batch, load.prompt_tokens, none, none, attended)) + held if lines else 0
