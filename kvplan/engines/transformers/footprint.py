"""Peaks of one workload: weights, cache and what the passes hold for a moment, as integers."""

from operator import mul
from typing import NamedTuple

from kvplan.core.workload import Workload
from kvplan.engines.transformers.cache import Rule
from kvplan.engines.transformers.chunked import Chunks, again, resident
from kvplan.engines.transformers.kernels import FLOAT32
from kvplan.engines.transformers.lines import Line, Point, binding, peak
from kvplan.engines.transformers.passes import Device, decode, prefill
from kvplan.engines.transformers.plan import Plan
from kvplan.engines.transformers.widths import PAIR, legend


class Peaks(NamedTuple):
    """Bytes beside the weights: the fuller cache of the run, and the peak of each pass (0 where it doesn't happen).

    ``surge`` is what the pass over the prompt holds beside the cache.
    """

    cache: int
    state: int
    prefill: int
    decode: int
    logits: int
    surge: int


class Footprint:
    """Evaluates a plan for any workload. Lines are built once for each pattern of attention masks."""

    def __init__(self, plan: Plan, device: Device) -> None:
        """``plan`` says what is kept, ``device`` which kernels run."""
        self.plan = plan
        self._device = device
        self._static, self._eager = plan.settings.cache == "static", plan.settings.attn == "eager"
        self._mask_bytes = 1 if plan.behavior.bool_masks else plan.elem_bytes
        self._padded = plan.settings.padding == "left"
        self._shrinks = not self._static and any(rule.shrinks for rule in plan.rules)
        self._attention_rules = tuple(dict.fromkeys(kind.rule for kind in plan.kinds if kind.widths["N"]))
        self._recent: dict[tuple[Workload, bool], Peaks] = {}  # one answer asks four times about one workload
        self._lines: dict[tuple[str, bool, tuple[bool, ...]], tuple[Line, ...]] = {}
        self._logits = plan.logits_bytes if plan.whole_logits else 0
        self._kept_logits = plan.row_bytes if plan.whole_logits else 0
        self._per_position, self._per_token = resident(plan)
        self._chunks = Chunks(plan, device) if plan.settings.chunk_tokens else None

    def peaks(self, load: Workload, *, bound: bool = False) -> Peaks:
        """Peaks of ``load``; with ``bound`` those that no shorter prompt or context exceeds.

        Then every mask ends off a multiple of 8, and a token is chosen after the last step as after the others.
        """
        found = self._recent.get((load, bound))
        if found is None:
            if len(self._recent) == 8:
                self._recent.clear()
            found = self._recent[load, bound] = self._evaluated(load, bound=bound)
        return found

    def _evaluated(self, load: Workload, *, bound: bool) -> Peaks:
        plan, batch = self.plan, load.batch
        held = batch * (plan.fixed_bytes + plan.state_bytes)
        before = self._after_prompt(load)
        first, logits = self._prompt_peak(load, before, bound=bound)
        later, kept_logits = self._decode_peak(load, before, bound=bound) if load.decode_steps else (-held, 0)
        return Peaks(
            cache=batch * (self._sum(self.fullest(load)) + plan.fixed_bytes),
            state=batch * plan.state_bytes,
            prefill=held + first,
            decode=held + later,
            logits=logits if first >= later else kept_logits,
            surge=first - batch * self._sum(before),
        )

    def fullest(self, load: Workload) -> tuple[int, ...]:
        """Entries of each rule when the cache is fullest: at the end, or after the prompt, while windows still hold all of it."""
        if load.decode_steps and not self._shrinks:
            return self._kept(load.ctx_tokens, load)
        prompt = self._after_prompt(load)
        return max(prompt, self._kept(load.ctx_tokens, load), key=self._sum) if load.decode_steps else prompt

    def _sum(self, entries: tuple[int, ...]) -> int:
        return sum(map(mul, self.plan.total, entries))

    def moment(self, load: Workload, *, decoding: bool) -> str:
        """What is alive at the peak of a pass, in the words of the family's form."""
        if not decoding:
            return self._named(*self._prompt_lines(load, self._after_prompt(load)))
        steps = [self._step_lines(load, self._after_prompt(load), load.prompt_tokens + 1)]
        if load.decode_steps > 1:
            steps.append(self._step_lines(load, self._kept(load.ctx_tokens - 1, load), load.ctx_tokens))
        return self._named(*max(steps, key=lambda step: peak(*step)))

    def _named(self, lines: tuple[Line, ...], point: Point) -> str:
        """The moment of the largest line, with the widths that it speaks of."""
        line = binding(lines, point)
        letters, comma, words = line.moment.what.partition(", ")
        widths = {"H": self.plan.hidden, "W": self.plan.vocab} if line.kind is None else self.plan.kinds[line.kind].widths
        return (
            f"{letters} elements of {self.plan.elem_bytes} B{comma}{words}; {legend(letters, {**widths, PAIR: point.attended[line.rule]})}"
        )

    def _kept(self, n_tokens: int, load: Workload) -> tuple[int, ...]:
        """Entries held by each rule once ``n_tokens`` are there and windows are applied; a static cache is whole from the start."""
        n_tokens = load.ctx_tokens if self._static else n_tokens
        return tuple([rule.kept(n_tokens) for rule in self.plan.rules])

    def _after_prompt(self, load: Workload) -> tuple[int, ...]:
        """Entries held after the prompt: a dynamic window is still a view into all of it."""
        if self._static:
            return self._kept(load.prompt_tokens, load)
        if self._chunks and load.prompt_tokens > self.plan.settings.chunk_tokens:
            return self._chunks.kept(load)
        return tuple([load.prompt_tokens // rule.ratio for rule in self.plan.rules])

    def _prompt_peak(self, load: Workload, before: tuple[int, ...], *, bound: bool) -> tuple[int, int]:
        """Peak of the passes over the prompt, and how much of it is logits of all positions."""
        if self._chunks and load.prompt_tokens > self.plan.settings.chunk_tokens:
            return self._chunks.peak(load), 0
        lines, point = self._prompt_lines(load, before)
        tokens = load.batch * load.prompt_tokens
        most, last = peak(lines[:-1], point, ragged=bound or None), peak(lines[-1:], point)
        most += self._per_position * load.prompt_tokens + self._per_token * tokens + self._masks(load, point.attended)
        last += self.plan.id_bytes * tokens
        return max(most, last), self._logits * tokens if last >= most else 0

    def _prompt_lines(self, load: Workload, before: tuple[int, ...]) -> tuple[tuple[Line, ...], Point]:
        full = tuple([self._hides(rule, load) for rule in self.plan.rules])
        key = ("prefill", alone := load.batch == 1, full)
        lines = self._lines.get(key) or self._lines.setdefault(key, prefill(self.plan, self._device, full, alone=alone))
        seen = tuple([self._seen(rule, load) for rule in self.plan.rules])
        return lines, Point(load.batch, load.prompt_tokens, before, (), seen)

    def _hides(self, rule: Rule, load: Workload) -> bool:
        """Whether a window hides some of the prompt; a static one is masked at its full width, in older versions any static cache."""
        hides = rule.window is not None and (load.ctx_tokens if self._static else load.prompt_tokens) >= rule.window
        return hides or (self._static and self.plan.behavior.masks_static)

    def _seen(self, rule: Rule, load: Workload) -> int:
        """Tokens that the prompt's attention runs over; a static cache is read whole unless SDPA can cut it."""
        if self._static and (self._eager or self._padded or self.plan.form.masks_all or self._hides(rule, load)):
            return max(load.prompt_tokens, rule.kept(load.ctx_tokens))
        return load.prompt_tokens

    def _masks(self, load: Workload, seen: tuple[int, ...]) -> int:
        """Masks that live through the pass: a square for each window, with padding one a sequence for each rule; eagerly a bias."""
        sizes, form = [0], self.plan.form
        for i in self._attention_rules:
            if self._eager:
                sizes.append(self.plan.elem_bytes * load.batch * load.prompt_tokens * seen[i])
            elif self.plan.settings.attn == "sdpa" and (self._padded or form.masks_all or self._hides(self.plan.rules[i], load)):
                sizes.append(self._mask_bytes * (load.batch if self._padded or form.masks_each else 1) * load.prompt_tokens * seen[i])
        idle = form.idle_masks * (self.plan.elem_bytes * load.batch if self._eager else 1) * load.prompt_tokens**2
        return form.constant_bytes + (sum(sizes) + idle if self.plan.enters else max(sizes))  # where none is made they come one by one

    def _decode_peak(self, load: Workload, before: tuple[int, ...], *, bound: bool) -> tuple[int, int]:
        """Peak over all decode steps, and how much of it is logits of all positions.

        It is in the last step, when the cache is fullest, or in the first, while windows still hold the prompt (``before``).
        """
        ctx, batch, prompt, steps = *load, load.decode_steps
        if self.plan.settings.cache == "none":
            return self._all_again(load._replace(prompt_tokens=ctx), bound=bound)
        most = self._step(load, before, prompt + 1) if steps == 1 or self._shrinks else 0
        if steps > 1:
            almost = self._kept(ctx - 1, load)
            most = max(most, self._step(load, almost, ctx), batch * self._choosing(almost, copies=2))
        most = max(most, batch * self._choosing(self._kept(ctx, load), copies=2)) if bound else most
        whole = self._kept_logits * batch * prompt
        if self.plan.behavior.keeps_outputs:
            most = max(most, self._step(load, before, prompt + 1) + whole)
        first = batch * self._choosing(before, copies=1) + whole
        n_ids = 3 if self._padded else 1  # with padding also a mask, and positions of each sequence
        return max(first, most) + n_ids * self.plan.id_bytes * batch * ctx, whole if first >= most else 0

    def _all_again(self, load: Workload, *, bound: bool) -> tuple[int, int]:
        """The last step without a cache: a pass over all tokens, beside the scores of the step before."""
        most, logits = self._prompt_peak(load, (0,) * len(self.plan.rules), bound=bound)
        copied = again(self.plan, load, tuple([self._seen(rule, load) for rule in self.plan.rules]))
        return max(most, copied) + FLOAT32 * load.batch * self.plan.score_elems, logits

    def _choosing(self, kept: tuple[int, ...], *, copies: int) -> int:
        """Per sequence between two passes: the cache, the output row, and ``copies`` of it in float32, of the scores now and before.

        Source: transformers 5.24 generation/utils.py, _sample.
        """
        return self._sum(kept) + self.plan.row_bytes + self.plan.score_elems * FLOAT32 * copies

    def _step(self, load: Workload, before: tuple[int, ...], n_tokens: int) -> int:
        """Peak of the step that makes ``n_tokens`` out of one less, whose cache holds ``before``."""
        lines, point = self._step_lines(load, before, n_tokens)
        return peak(lines, point) + FLOAT32 * load.batch * self.plan.score_elems + self.plan.form.constant_bytes

    def _step_lines(self, load: Workload, before: tuple[int, ...], n_tokens: int) -> tuple[tuple[Line, ...], Point]:
        full = tuple([rule.window is not None and n_tokens > rule.window for rule in self.plan.rules])
        key = ("decode", alone := load.batch == 1, full)
        lines = self._lines.get(key) or self._lines.setdefault(key, decode(self.plan, self._device, full, alone=alone))
        now = self._kept(n_tokens, load)
        return lines, Point(load.batch, 1, now, before, now)
