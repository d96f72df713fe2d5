"""A study as a run would make it, without a run."""

from kvplan.specs import load_model
from kvplan.verifier.fidelity.asked import Bucket, Job, Output, Played, Row
from kvplan.verifier.fidelity.samples import Sample
from kvplan.verifier.fidelity.study import Study, judged_together
from kvplan.verifier.fidelity.variant import variants

SAMPLES = (
    Sample("sum", "arithmetic", "25 + 13 =", "38"),
    Sample("far", "recall", "The keeper …", "Marta"),
    Sample("prose", "text", "The harbor …"),
)


def study() -> Study:
    """Of llama-2-7b with four caches: one as good as the full one, one with some loss, one bad, one that failed."""
    asked = variants("int8,int4:k=channel,int4,hqq-int4")
    played = (
        Played(9, (_wrote(" 38", None), _wrote(" 38", None), _wrote(" 38", 4), _wrote(" 41", 0), _failed())),
        Played(600, (_wrote(" Marta", None), _wrote(" Marta", None), _wrote(" Marta", None), _wrote(" <b>Jonas</b>", 0), _failed())),
        Played(900, (_read(0.0), _read(0.0004), _read(0.02), _read(0.2), _failed())),
    )
    job = Job("llama", None, None, "float32", "cpu", 16, asked, SAMPLES)
    found = judged_together(load_model("llama-2-7b"), job, list(zip(SAMPLES, played, strict=True)), 4096, "this processor")
    return found._replace(versions={"kvplan": "0.1.0", "torch": "2.13.0", "transformers": "5.24.0", "hqq": None})


def _wrote(text: str, divergence: int | None) -> Row:
    off = 0.0 if divergence is None else 0.1
    tokens = (7, 8, 9, 10, 7, 8, 9, 10, *range(8)) if divergence == 0 else tuple(range(16))
    return Row({512: Bucket(16, 8.0, off, off, off, 16)}, Output(text, tokens, ended=False, divergence=divergence))


def _read(kl: float) -> Row:
    return Row({0: Bucket(128, 300 + kl, kl, kl, 128 * kl, 126), 512: Bucket(400, 900 + kl, kl, kl, 400 * kl * 1.2, 390)}, None)


def _failed() -> Row:
    return Row({}, None, "RuntimeError: The size of tensor a (73) must match the size of tensor b (74)")
