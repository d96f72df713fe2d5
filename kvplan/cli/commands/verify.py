"""``kvplan verify``."""

from pathlib import Path

from kvplan.cli import options, runs, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.core.errors import EXIT_NO, EXIT_OK, RequestError
from kvplan.estimator import Options
from kvplan.verifier import files


def run(said: Said) -> int:
    """A run beside its estimate; exit 1 when a term is out of its tolerance."""
    from kvplan.render import verification
    from kvplan.render.envelope import document, dumps
    from kvplan.verifier import calibrating, checks
    from kvplan.verifier.verification import answer

    if not said.words and "weights" not in said.values:
        raise RequestError("usage", "no MODEL was named", hint="kvplan verify llama-2-7b --ctx 4096 --batch 1")
    known = {name: value for name, value in said.values.items() if name in Options._fields}
    run = runs.asked(said)
    if "save_calibration" in said.values:
        calibrating.check_tier(checks.tier(run.backend, loads=run.weights is not None))
    asked = Options(model=said.words[0] if said.words else None, command=(), **known)
    found = answer(asked, run, record_in=files.FOLDER if "record" in said.flags else None)
    shown = dumps(verification.as_json(found)) + "\n" if "json" in said.flags else verification.text(found)
    streams.write(shown, said)
    if "save_calibration" in said.values:
        streams.write_file(Path(said.values["save_calibration"]), document(calibrating.calibration(found)), force="force" in said.flags)
    return EXIT_OK if found.ok else EXIT_NO


COMMAND = Command(
    name="verify",
    help="Run a real prefill and decode with random weights, or trace one without a GPU, and hold the estimate to its bytes.\n\n"
    "Needs torch and transformers: pip install 'kvplan[verify]'. Nothing is allocated unless the estimate fits in what is free. "
    "Without --prompt one step is decoded; a shorter prompt leaves more to decode, and to time.",
    argument="[MODEL]",
    options=(
        *options.WORKLOAD,
        Option(
            "--backend",
            "cuda measures the first attached GPU (default if there is one), cpu weights and cache, trace runs the code on no hardware.",
            "Run",
            "TIER",
            choices=tuple(runs.TIERS),
        ),
        Option("--layers", "Build and estimate only the first N layers.", "Run", "N"),
        Option("--warmup", "Passes before those that are timed; the first counts memory. Default 1.", "Run", "N"),
        Option("--repeats", "Passes that are timed, each a prefill and all decode steps. Default 3.", "Run", "N"),
        Option("--no-cache", "Run it without a cache, too, and show both.", "Run"),
        Option("--weights", "Load the checkpoint in DIR instead of random weights; MODEL may then be left out.", "Run", "DIR"),
        Option("--record", f"Keep the record under {files.FOLDER}.", "Run"),
        Option("--save-calibration", "Write what this GPU's overheads are, for `estimate --calibration FILE`.", "Run", "FILE"),
        options.PRECISION[0],
        *options.ENGINE[1:],
        Option("--gpu", "A trace: the GPU whose kernels and allocator are followed; an estimate with its overheads.", "Hardware", "ID"),
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=(
        "kvplan verify llama-2-7b --ctx 4096 --batch 1",
        "kvplan verify llama-3-70b --ctx 32k --batch 8 --backend trace --gpu h100-sxm",
    ),
    run=run,
)
