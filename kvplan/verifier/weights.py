"""A real checkpoint in the place of random weights."""

from pathlib import Path

from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.estimator import Options
from kvplan.specs import load_model
from kvplan.verifier.configs import config_of
from kvplan.verifier.run import Run


def subject(options: Options, run: Run) -> tuple[Options, dict[str, object]]:
    """What is asked and the config to build: those of the checkpoint where the run loads one.

    Raises RequestError for a folder without safetensors, one that holds quantized ones or another model than the options name, and a
    trace of it.
    """
    if run.weights is None:
        return options, config_of(options.model or "")
    folder = Path(run.weights).expanduser()
    if run.backend == "trace":
        raise RequestError("contradiction", "--weights: a trace reads none", hint="leave --weights out, or say --backend cpu")
    if not any(folder.glob("*.safetensors")):
        raise RequestError("bad_weights", f"--weights {run.weights}: no *.safetensors in this folder", hint="name a checkpoint's folder")
    found = load_model(str(folder))
    if found.quantization is not None:
        message = f"--weights {run.weights}: verify loads weights in the plain types of torch, not {found.quantization}"
        raise RequestError("unsupported", message, hint="leave --weights out: random weights of the same shapes are run")
    if options.model is not None:
        _check_same(load_model(options.model), found, run.weights)
    return options._replace(model=str(folder)), config_of(str(folder))


def _check_same(asked: ModelSpec, found: ModelSpec, name: str) -> None:
    """Types of elements may differ, and so may names."""
    ours, theirs = _facts(asked), _facts(found)
    told = [f"{key} {theirs[key]}, not {ours[key]}" for key in ours if ours[key] != theirs[key]]
    if not told and _mixers(asked) != _mixers(found):
        told = ["its layers attend otherwise"]
    if told:
        message = f"--weights {name} holds another model than {asked.id}: {'; '.join(told)}"
        raise RequestError("contradiction", message, hint="leave MODEL out to run what lies there")


def _facts(model: ModelSpec) -> dict[str, object]:
    return {key: getattr(model, key) for key in ("architecture", "hidden_size", "vocab_size", "n_layers", "n_params")}


def _mixers(model: ModelSpec) -> list[tuple[int, object]]:
    return [(run.n_layers, run.layer.mixers) for run in model.runs]
