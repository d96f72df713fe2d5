"""Reads one job, plays its samples, prints a line for each thing that happens."""

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, TextIO

from kvplan.verifier.fidelity.asked import Job, job_from, to_json

if TYPE_CHECKING:
    import torch

    from kvplan.verifier.child.fidelity.play import Tokenizer


def main() -> int:
    """Answer the job on stdin; what libraries print goes to stderr."""
    out = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        job = job_from(json.load(sys.stdin))
        try:
            _run(job, out)
        except Exception as problem:  # of a model's own code: any; the caller shows it
            _tell(out, event="failed", error=f"{type(problem).__name__}: {problem}")
    return 0


def _run(job: Job, out: TextIO) -> None:
    import torch
    import transformers

    from kvplan.verifier.child.fidelity.play import Player

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    if job.device == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("torch sees no CUDA device")
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    with torch.inference_mode():
        module, tokenizer = _loaded(job)
        name = torch.cuda.get_device_name(0) if job.device == "cuda" else "this processor"
        _tell(out, event="loaded", device=name, n_threads=torch.get_num_threads())
        with Player(module, tokenizer, job.variants, job.n_new) as player:
            for sample in job.samples:
                told = lambda step, name=sample.name: _tell(out, event="step", sample=name, step=step)  # noqa: E731 - one use
                _tell(out, event="played", sample=sample.name, played=to_json(player.play(sample, told)))


def _loaded(job: Job) -> "tuple[torch.nn.Module, Tokenizer]":
    """The model and its tokenizer, from a folder, a GGUF file or the Hub."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = {key: value for key, value in (("revision", job.revision), ("gguf_file", job.gguf_file)) if value is not None}
    tokenizer = AutoTokenizer.from_pretrained(job.weights, **where)
    module = AutoModelForCausalLM.from_pretrained(job.weights, dtype=getattr(torch, job.dtype), **where)
    return module.to(job.device).eval(), tokenizer


def _tell(out: TextIO, **event: object) -> None:
    out.write(json.dumps(event) + "\n")
    out.flush()


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # the answer is out, and taking thousands of modules apart takes a second
