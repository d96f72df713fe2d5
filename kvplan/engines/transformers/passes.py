"""The two kinds of forward pass, over the prompt and over one token, as lines to evaluate.

Source: transformers 5.24 generation/utils.py (_prefill, _sample), cache_utils.py, integrations/moe.py and modeling_*.py.
"""

from typing import NamedTuple

from kvplan.engines.transformers.aged import ROUTING, moe
from kvplan.engines.transformers.growth import growth, requantized
from kvplan.engines.transformers.kernels import Context, Moment, Shape, choose, moments, shape_of
from kvplan.engines.transformers.lines import Line, largest, unbeaten
from kvplan.engines.transformers.plan import Kind, Plan, plus
from kvplan.engines.transformers.scans import scans, steps
from kvplan.engines.transformers.widths import Rate, rate

MLP = {True: ("4H + 3I",), False: ("4H + 2I",)}
RAW = "K + V"
CAT = f"3H + Q + {RAW}"


class Device(NamedTuple):
    """What decides which kernels run: compute capability, None where unknown."""

    capability: tuple[int, int] | None


def prefill(plan: Plan, device: Device, full: tuple[bool, ...], *, alone: bool = False) -> tuple[Line, ...]:
    """Moments of the pass over the prompt; ``full`` says for each rule whether its window hides something,
    ``alone`` that the batch is one sequence."""
    lines: list[Line] = []
    nothing = (0,) * len(plan.rules)
    every = plan.settings.padding == "left" or plan.form.masks_all or plan.form.mask_heads
    for i, kind in enumerate(plan.kinds):
        masked = (full[kind.rule] or every) and plan.settings.attn == "sdpa"
        run = context(plan, device, decoding=False, masked=masked, alone=alone)
        keeps_raw = plan.settings.cache in ("quantized", "none") or (plan.settings.cache == "static" and full[kind.rule])
        after = largest([*_inside(plan, kind, run, raw=RAW if keeps_raw else ""), *_after(plan, kind)])
        most = max(moment.token for moment in after)
        before = [moment for moment in largest(_before(plan, kind, run)) if moment.token > most or moment.pair]
        behind = plus(kind.last, kind.own)
        lines += [Line(moment, kind.rule, kind.last, nothing, kind=i) for moment in before]
        lines += [Line(moment, kind.rule, behind, nothing, kind=i) for moment in after]
        lines += [Line(moment, kind.rule, behind, nothing, row, i, chunks) for moment, row, chunks in scans(plan, kind)]
    return (*unbeaten(lines), head(plan, whole=plan.whole_logits))


def decode(plan: Plan, device: Device, full: tuple[bool, ...], *, alone: bool = False, chunk: bool = False) -> tuple[Line, ...]:
    """Moments of one decode step at the last layer of each kind; with windows, which shrink after the prompt, also at the first.

    ``full`` says for each rule whether its window is full before the step. A ``chunk`` is a step of many tokens: the next part of a
    prompt, under a mask.
    """
    lines: list[Line] = []
    shrinks = plan.settings.cache == "dynamic" and any(rule.shrinks for rule in plan.rules)
    for i, kind in enumerate(plan.kinds):
        masked = plan.settings.attn == "sdpa" and (
            plan.settings.cache == "static" or plan.settings.padding == "left" or full[kind.rule] or chunk
        )
        run = context(plan, device, decoding=not chunk, masked=masked, alone=alone)
        ends = [] if chunk else [*steps(plan, kind), *gathered(plan, kind)]
        after = largest([*_inside(plan, kind, run), *_after(plan, kind), *ends])
        cat = Moment(_rate(plan, kind, CAT).token, attended=requantized(plan, kind), what=f"{CAT}, as its cache grows")
        reads = chunk or plan.form.attention_context  # one token's products read views, and its projections are below the kernel's moments
        before = _before(plan, kind, run if chunk else run._replace(alone=True)) if reads else []
        for place in dict.fromkeys((kind.first, kind.last) if shrinks else (kind.last,)):
            behind = plus(place, kind.own)
            ahead = plus(plan.total, behind, times=-1)
            lines.append(Line(cat, kind.rule, plus(place, growth(plan, kind, full=full[kind.rule])), plus(ahead, kind.own), kind=i))
            lines += [Line(moment, kind.rule, place, plus(ahead, kind.own), kind=i) for moment in before]
            ahead = plan.total if plan.keeps_old else ahead
            lines += [Line(moment, kind.rule, behind, ahead, kind=i) for moment in after]
            read = scans(plan, kind) if chunk else ()
            lines += [Line(moment, kind.rule, behind, ahead, row, i, chunks) for moment, row, chunks in read]
    return (*unbeaten(lines), head(plan, whole=False))


def head(plan: Plan, *, whole: bool) -> Line:
    """The output projection after the last layer: logits of one position of each sequence, or of the ``whole`` pass."""
    hidden, row = plan.elem_bytes * plan.hidden * plan.heads, plan.logits_bytes + plan.gathered_bytes
    return Line(
        Moment(hidden + row * whole, what=f"H + {plan.form.logits}, at the output projection"),
        0,
        plan.total,
        (0,) * len(plan.rules),
        0 if whole else row,
    )


def context(plan: Plan, device: Device, *, decoding: bool, masked: bool, alone: bool = False) -> Context:
    """What the choice of an attention kernel depends on beside the layer."""
    settings = plan.settings
    return Context(
        attn=settings.attn,
        kv_heads=plan.form.kv_heads,
        elem_bytes=plan.elem_bytes,
        bfloat16=settings.compute_dtype == "bfloat16",
        capability=device.capability,
        decoding=decoding,
        masked=masked,
        packs_queries=plan.behavior.packs_queries,
        reads_groups=plan.behavior.reads_groups,
        alone=alone,
        biased=plan.form.mask_heads,
    )


def _rate(plan: Plan, kind: Kind, text: str) -> Rate:
    return rate(text, kind.widths, plan.elem_bytes)


def _before(plan: Plan, kind: Kind, run: Context) -> list[Moment]:
    """Moments before the cache is written: projections and rotation, and the copies that quantize keys and values."""
    if not kind.widths["N"]:
        return []
    quantizes = (f"3H + Q + {RAW} + 2fV + bK",) if plan.settings.cache == "quantized" else ()
    special = plan.form.full_attention if kind.layer.mixers[0].kind == "full" else None
    special = plan.form.attention_alone if run.alone and plan.form.attention_alone else special
    texts = (*(plan.form.attention if special is None else special), *quantizes)
    attended = _rate(plan, kind, plan.form.attention_context).token
    return [Moment(*_rate(plan, kind, text), attended, what=text) for text in texts]


def _inside(plan: Plan, kind: Kind, run: Context, *, raw: str = "") -> list[Moment]:
    """Moments of the attention kernel and of the projection of its output; ``raw`` is what the cache hands back beside its copy."""
    shape = next((found for mixer in kind.layer.mixers if (found := shape_of(mixer))), None)
    if shape is None:
        return []
    form, elem = plan.form, plan.elem_bytes
    what = form.core_alone if run.alone and form.core_alone else form.core
    core, attended = _rate(plan, kind, what), _rate(plan, kind, form.context).token
    if plan.settings.cache == "quantized" and run.decoding:
        attended += _rate(plan, kind, RAW).token  # read back from their codes
    token = core.token + _rate(plan, kind, raw).token
    around = Moment(token, core.pair, attended, what=what)
    kept, copied, out = _eager_rest(plan, kind, shape, run) if run.attn == "eager" else (0, 0, 0)
    held = f"{what} + {form.kept_scores}" if kept else what
    product = Moment(token + out, core.pair + kept, attended + copied, what=f"{held}{' + 2O' if out else ''}, after the attention kernel")
    projected = around._replace(
        token=token + elem * (kind.widths["O"] + kind.widths["H"]), pair=around.pair + kept, what=f"{held} + O + H, as it is projected"
    )
    scores = Moment(*_rate(plan, kind, form.scores), what=form.scores)
    return [*moments(shape, run, around, scores, kind.widths), product, projected]


def _eager_rest(plan: Plan, kind: Kind, shape: Shape, run: Context) -> tuple[int, int, int]:
    """What is alive behind an eager product: scores that outlive it, what it copied of each token attended to, its output twice."""
    form, elem = plan.form, plan.elem_bytes
    repeated = elem * (kind.widths["Q"] + kind.widths["O"]) if choose(shape, run)[1] and shape.n_kv_heads > 1 else 0
    return _rate(plan, kind, form.kept_scores).pair, max(repeated, _rate(plan, kind, form.eager_context).token), 2 * elem * kind.widths["O"]


def _after(plan: Plan, kind: Kind) -> list[Moment]:
    """Moments after attention: the norm and the feed-forwards."""
    form = plan.form
    kept = _rate(plan, kind, form.kept_scores).pair if plan.settings.attn == "eager" and kind.widths["N"] else 0
    texts = [form.norm]
    for ffn in kind.layer.ffns:
        texts += (form.mlp or MLP[ffn.gated]) if ffn.kind == "dense" else moe(form, plan.behavior.experts, gated=ffn.gated)
    return [Moment(found.token, found.pair + kept, what=text) for text, found in ((text, _rate(plan, kind, text)) for text in texts)]


def gathered(plan: Plan, kind: Kind) -> list[Moment]:
    """generate() decodes with batched_mm, which copies the weights of each token's experts.

    Source: transformers 5.24 integrations/moe.py, batched_mm_experts_forward; modeling_utils.py, _optimize_model_for_decode.
    """
    mixture = next((ffn for ffn in kind.layer.ffns if ffn.kind == "moe"), None)
    if mixture is None or plan.settings.forward == "plain" or not (plan.form.gathers_experts and plan.behavior.gathers):
        return []
    experts = sum(group.run_bytes(plan.settings.dtype) for group in kind.layer.weights if group.role == "expert")
    token = _rate(plan, kind, f"4H + 2AH + {ROUTING}").token + mixture.n_active * experts // mixture.n_experts
    return [Moment(token, what=f"4H + 2AH + {ROUTING}, and copies of its experts' weights")]
