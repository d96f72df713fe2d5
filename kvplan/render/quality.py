"""What quantized caches cost, as text and JSON."""

from collections.abc import Sequence

from kvplan.core.units import format_size
from kvplan.render.envelope import enveloped
from kvplan.render.table import aligned
from kvplan.verifier.fidelity.measures import Distance, Measures
from kvplan.verifier.fidelity.study import Found, Study
from kvplan.verifier.fidelity.variant import in_words
from kvplan.verifier.fidelity.verdicts import BAD_KL, BAD_RISE, NOISE_KL, NOISE_RISE

WORDS = {"within_noise": "within noise", "some_loss": "some loss", "bad": "BAD", "failed": "failed"}
_HEAD = ("cache", "bytes", "saved", "perplexity", "KL", "top-1", "right", "parts at", "repeats", "endings", "verdict")
_REFERENCE = "reference"


def text(found: Study) -> str:
    """The whole answer, ending in a newline."""
    where = found.tier if found.device is None else f"{found.tier} on {found.device}"
    head = f"{found.model.id} · computes in {found.dtype} · {where} · {len(found.samples)} samples · {found.n_new} tokens each"
    first = (_REFERENCE, format_size(found.plain_bytes), "", *_cells(found.reference), "")
    rows = aligned([_HEAD, first, *(_row(one, found.plain_bytes) for one in found.found)], left=frozenset({0, 10}))
    return "\n".join((head, "", *rows, "", *_by_distance(found), "", *_why(found), "", *_notes(found), ""))


def _row(one: Found, plain: int) -> tuple[str, ...]:
    cells = ("",) * 7 if one.measures is None else _cells(one.measures)
    saved = f"{100 * (plain - one.bytes) / plain:.0f} %"
    return (one.variant.name, format_size(one.bytes), saved, *cells, WORDS[one.judged.verdict])


def _cells(found: Measures) -> tuple[str, ...]:
    apart = "–" if not found.n_answers else "never" if found.divergence is None else f"{found.divergence} ({found.n_diverged})"
    return (
        "–" if found.perplexity is None else f"{found.perplexity:.3f}",
        f"{found.judgment.kl:.5f}",
        f"{found.judgment.top1:.3f}",
        f"{found.n_right}/{found.n_answers}",
        apart,
        "–" if found.repetition is None else f"{100 * found.repetition:.0f} %",
        f"{found.n_broken_off}+{found.n_ran_on}",
    )


def _by_distance(found: Study) -> list[str]:
    """KL and top-1 agreement by how many tokens stand before."""
    spans = found.reference.distances
    rows = [("KL, top-1", *(_span(one) for one in spans))]
    for one in found.found:
        if one.measures is not None:
            rows.append((one.variant.name, *(f"{at.judgment.kl:.5f}  {at.judgment.top1:.3f}" for at in one.measures.distances)))
    return aligned(rows)


def _span(one: Distance) -> str:
    return f"{one.from_tokens}+ tokens" if one.to_tokens is None else f"{one.from_tokens}–{one.to_tokens}"


def _why(found: Study) -> list[str]:
    return [f"{one.variant.name}: {in_words(one.variant)}. {WORDS[one.judged.verdict]}: {one.judged.why}" for one in found.found]


def _notes(found: Study) -> Sequence[str]:
    return (
        f"bytes: one sequence of {found.ctx_tokens} tokens, scales included; the reference in 16 bits",
        "right: outputs that begin with the known answer; parts at: median token of the first difference (of how many outputs)",
        "repeats: 4-grams that were there before; endings: outputs that broke off before the reference's end + those that ran past it",
        f"within noise: KL up to {NOISE_KL} nats, perplexity up to {100 * NOISE_RISE:.2g} % (Q6_K weights of Llama 3 8B); "
        f"bad: from {BAD_KL} or {100 * BAD_RISE:.0f} % on (Q3_K_M)",
        "caches are simulated in the model's own computation, but those that name Transformers' packages; kernels of engines may differ",
        " · ".join(f"{name} {value}" for name, value in found.versions.items() if value),
    )


def as_json(found: Study) -> dict[str, object]:
    """The JSON object of ``kvplan quality``."""
    model = found.model
    return enveloped(
        {
            "model": {
                key: getattr(model, key) for key in ("id", "source", "revision", "architecture", "n_params", "n_layers", "stored_dtype")
            },
            "run": {
                "dtype": found.dtype,
                "tier": found.tier,
                "device": found.device,
                "new_tokens": found.n_new,
                "versions": found.versions,
            },
            "ctx_tokens": found.ctx_tokens,
            "reference": {"bytes": found.plain_bytes, **_measures(found.reference)},
            "caches": [_cache(one, found.plain_bytes) for one in found.found],
            "thresholds": {"noise_kl": NOISE_KL, "noise_rise": NOISE_RISE, "bad_kl": BAD_KL, "bad_rise": BAD_RISE},
            "samples": [_sample(found, i) for i in range(len(found.samples))],
            "findings": [{**one._asdict(), "fixes": []} for one in found.findings],
        }
    )


def _cache(one: Found, plain: int) -> dict[str, object]:
    return {
        "kv_dtype": one.variant.name,
        "k": one.variant.k._asdict(),
        "v": one.variant.v._asdict(),
        "own": one.variant.backend,
        "bytes": one.bytes,
        "saved_bytes": plain - one.bytes,
        "verdict": one.judged.verdict,
        "why": one.judged.why,
        "measures": None if one.measures is None else _measures(one.measures),
    }


def _measures(found: Measures) -> dict[str, object]:
    judgment = found.judgment
    plain = {key: value for key, value in found._asdict().items() if key not in ("judgment", "distances")}
    return {**plain, **judgment._asdict(), "distances": [{**one._asdict(), "judgment": one.judgment._asdict()} for one in found.distances]}


def _sample(found: Study, i: int) -> dict[str, object]:
    sample, played = found.samples[i]
    outputs = [None if row.output is None else _output(row.output.text, row.output.divergence, row.output.ended) for row in played.rows]
    named = [one.variant.name for one in found.found]
    return {
        "id": sample.name,
        "kind": sample.kind,
        "n_prompt_tokens": played.n_prompt,
        "answer": sample.answer,
        "reference": outputs[0],
        "caches": [{"kv_dtype": name, "output": one} for name, one in zip(named, outputs[1:], strict=True)],
    }


def _output(text: str, divergence: int | None, ended: bool) -> dict[str, object]:  # noqa: FBT001 - a field of the output
    return {"text": text, "divergence": divergence, "ended": ended}
