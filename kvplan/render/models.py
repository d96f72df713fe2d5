"""The catalogue of models, one model in detail, and spec files."""

from pathlib import Path

from kvplan import __version__
from kvplan.core.errors import RequestError
from kvplan.core.model import ModelSpec
from kvplan.core.shares import by_role, stored_bytes
from kvplan.core.units import GIB
from kvplan.render import layers, shares
from kvplan.render.envelope import document
from kvplan.render.table import aligned
from kvplan.specs import builtin, is_outside, load_model
from kvplan.specs.files import read_text

_BILLION = 10**9


def listing(name: str, *, as_json: bool) -> str:
    """The model at ``name``; else the one that it is the id of or names alone, or the built-in models that all its words stand in."""
    found = [] if is_outside(name) else [model_id for model_id in builtin.ids() if _matches(model_id, name)]
    if name and (is_outside(name) or builtin.find(name)) and (len(found) < 2 or name.lower() in found):
        spec = load_model(name)
        return document({"model": _details(spec)}) if as_json else _detail_text(spec)
    specs = [load_model(model_id) for model_id in found]
    if not specs:
        raise builtin.unknown(name)
    if as_json:
        return document({"models": [_row(spec) for spec in specs]})
    return _table(specs)


def spec_text(name: str) -> str:
    """The spec file of ``name``: a built-in one or a spec as it lies there, any other model as a new one."""
    found = None if is_outside(name) else builtin.find(name)
    if found is not None:
        return builtin.text(found)
    if name == "-":
        raise RequestError("usage", "--spec reads a file, not stdin", hint="give the path of the config.json")
    if name.endswith((".yaml", ".yml")):
        load_model(name)
        return read_text(Path(name))
    return _as_spec(name)


def _as_spec(name: str) -> str:
    import yaml

    from kvplan.specs.pinning import pinned

    body = yaml.safe_dump(pinned(name), sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    return f"# made by kvplan {__version__} from {name}\n{body}"


def _matches(model_id: str, words: str) -> bool:
    if not words:
        return True
    config = builtin.read(model_id)["config"]
    family = config.get("model_type", "") if isinstance(config, dict) else ""
    parts = " ".join((" ", model_id, *builtin.aliases(model_id), family)).replace("-", " ").replace("/", " ").replace("_", " ")
    return all(f" {word}" in parts for word in words.lower().replace("-", " ").split())


def _row(spec: ModelSpec) -> dict[str, object]:
    return {
        "id": spec.id,
        "architecture": spec.architecture,
        "n_params": spec.n_params,
        "n_active_params": spec.n_active_params,
        "n_layers": spec.n_layers,
        "max_ctx_tokens": spec.max_ctx_tokens,
        "stored_dtype": spec.stored_dtype,
        "quantization": spec.quantization,
        "weight_bytes": stored_bytes(spec),
        "as_of": spec.as_of,
        "aliases": builtin.aliases(spec.id) if spec.source == "builtin" else [],
    }


def _details(spec: ModelSpec) -> dict[str, object]:
    groups = [
        {
            "name": group.name,
            "role": group.role,
            "rows": group.rows,
            "cols": group.cols,
            "n_copies": group.n_copies,
            "dtype": group.dtype or spec.stored_dtype,
            "tied_to": group.tied_to,
            "n_params": group.n_params,
            "bytes": group.n_bytes(spec.stored_dtype),
            "run_dtype": group.run_dtype,
        }
        for group in spec.groups()
    ]
    runs = [
        {"n_layers": run.n_layers, "mixers": [m._asdict() for m in run.layer.mixers], "ffns": [f._asdict() for f in run.layer.ffns]}
        for run in spec.runs
    ]
    return {**_row(spec), "shares": [share._asdict() for share in by_role(spec)], "groups": groups, "layers": runs, **_files(spec)}


def _files(spec: ModelSpec) -> dict[str, object]:
    """What the checkpoint holds, null where its headers were not read."""
    found = spec.checkpoint
    if found is None:
        return {"mtp_bytes": spec.mtp_bytes, "checkpoint": None}
    return {"mtp_bytes": spec.mtp_bytes, "checkpoint": {**found.facts(), "holdings": [held._asdict() for held in found.holdings]}}


def _detail_text(spec: ModelSpec) -> str:
    also = f"also: {', '.join(builtin.aliases(spec.id))}\n" if spec.source == "builtin" else ""
    head = f"{spec.id} · {spec.architecture} · {spec.n_layers} layers · {shares.stored_as(spec)} · context {_limit(spec)}"
    lines = [head, also, *shares.by_role(spec), "", *shares.besides(spec)]
    return "\n".join([*lines, *layers.told(spec)]) + "\n"


def _limit(spec: ModelSpec) -> str:
    return f"{spec.max_ctx_tokens:,} tokens" if spec.max_ctx_tokens else "none"


def _table(specs: list[ModelSpec]) -> str:
    head = ("id", "10⁹ parameters", "active", "GiB", "context")
    rows = [
        (
            spec.id,
            f"{spec.n_params / _BILLION:.2f}",
            f"{spec.n_active_params / _BILLION:.2f}" if spec.n_active_params != spec.n_params else "",
            f"{spec.weight_bytes / GIB:.2f}",
            f"{spec.max_ctx_tokens:,}" if spec.max_ctx_tokens else "none",
        )
        for spec in specs
    ]
    return "\n".join(aligned([head, *rows])) + "\n"
