"""A spec and the headers of its files held against each other: what agrees is exact, what does not is said."""

from collections import Counter
from collections.abc import Sequence

from kvplan.core.checkpoint import Checkpoint, Tensor
from kvplan.core.dtypes import PLAIN
from kvplan.core.model import Caveat, ModelSpec
from kvplan.core.roles import TOWERS
from kvplan.core.units import ceil_div
from kvplan.specs.storage import ASSUMED
from kvplan.specs.tensor_names import layer_of, part_and_role

_FAR_SIZE = 25  # hundredths: what tables of masks, tied weights stored again and the pickle itself explain
_WIDTHS = (2, 4, 8)  # bytes of an element of the plain types
_FAR = 10  # hundredths: what no scales, embeddings left alone or layers kept in 16 bits explain


def reconciled(spec: ModelSpec, checkpoint: Checkpoint, tensors: Sequence[Tensor]) -> ModelSpec:
    """``spec`` with its checkpoint.

    Unquantized: as many parameters as counted make the count exact, others widen the interval and are warned of. Quantized:
    equal bytes make the arithmetic exact; else the files' bytes are what engines go by. Where sizes are all that is known,
    they must fit some element type. Raises nothing.
    """
    if checkpoint.basis == "file sizes":
        return _by_size(spec._replace(checkpoint=checkpoint), checkpoint)
    spec = _as_stored(spec, checkpoint)._replace(checkpoint=checkpoint)
    made = _quantized(spec, checkpoint) if spec.quantization is not None else _plain(spec, checkpoint, tensors)
    return made if _is_warned(made) else made._replace(caveats=(*made.caveats, *_other_layers(spec, checkpoint, tensors)))


def _is_warned(spec: ModelSpec) -> bool:
    return any(caveat.rule == "KV018" for caveat in spec.caveats)


def _by_size(spec: ModelSpec, checkpoint: Checkpoint) -> ModelSpec:
    """``spec``, warned of files that no element type makes as large; models with a part that is not counted may be of any size."""
    held, counted = checkpoint.n_bytes, spec.weight_bytes
    dues = [counted] if spec.quantization is not None else [width * spec.n_params for width in _WIDTHS]
    if not spec.exact or any(100 * abs(held - due) <= _FAR_SIZE * due for due in dues):
        return spec
    message = f"the files take {held:,} B, the model that the config describes {counted:,} B: they are not all of it, or of another"
    return spec._replace(exact=False, caveats=(*spec.caveats, Caveat("KV018", "warning", message, "check that the files are complete")))


def _other_layers(spec: ModelSpec, checkpoint: Checkpoint, tensors: Sequence[Tensor]) -> list[Caveat]:
    """What is said where the files go on behind the last layer, next-token layers included, or end before it."""
    n_layers = spec.n_layers + sum(run.n_layers for run in spec.mtp)
    numbers = {number for tensor in tensors if (number := layer_of(tensor.name)) is not None}
    last = max(numbers, default=n_layers)
    if last + 1 < spec.n_layers:
        message = f"the files end with layer {last}, the config has {spec.n_layers} layers"
        return [Caveat("KV018", "warning", message, "check that the files are complete and the config is theirs")]
    if last < n_layers or not checkpoint.bytes_in("mtp"):
        return []
    behind = max((layer_of(tensor.name) or 0 for tensor in tensors if _is_plainly_a_layer(tensor.name)), default=0)
    if behind < n_layers:
        return []
    message = f"the files go on to layer {behind}, the config has {spec.n_layers} layers: those behind are not counted"
    return [Caveat("KV018", "warning", message, "check that the config is theirs; what is not in it is not loaded")]


def _is_plainly_a_layer(name: str) -> bool:
    """Whether it is of the language model's own layers, and none that its name says to predict further tokens."""
    part, role = part_and_role(name)
    return part == "model" and role not in (*TOWERS, "encoder")


def _as_stored(spec: ModelSpec, checkpoint: Checkpoint) -> ModelSpec:
    """Where the config names no element type, that of the files (KV003 is settled then).

    Source: transformers 5.24 modeling_utils.py, _get_dtype: ``auto`` without a dtype in the config.
    """
    held = {dtype: n for dtype, n in _elements(checkpoint).items() if dtype in PLAIN}
    if not held or spec.stored_dtype != ASSUMED or not any(caveat.rule == "KV003" for caveat in spec.caveats):
        return spec
    caveats = tuple(caveat for caveat in spec.caveats if caveat.rule != "KV003")
    return spec._replace(stored_dtype=max(held, key=held.__getitem__), caveats=caveats)


def _elements(checkpoint: Checkpoint) -> Counter[str]:
    """Elements of the model's own parameters by element type."""
    sums = Counter[str]()
    for held in checkpoint.holdings:
        if held.part == "model" and held.role != "scale":
            sums[held.dtype] += held.n_elems
    return sums


def _plain(spec: ModelSpec, checkpoint: Checkpoint, tensors: Sequence[Tensor]) -> ModelSpec:
    held = _elements(checkpoint)
    n_held, n_counted = held.total(), spec.n_params
    caveats = [*spec.caveats, *_converted(spec, held)]
    if n_held == n_counted or n_held + _computed(spec) == n_counted:
        return spec._replace(exact=True, off_by=(0, 0), caveats=(*caveats, *_packed(spec, held)))
    more = ceil_div(100 * abs(n_held - n_counted), max(1, n_counted))
    message = f"the files hold {n_held:,} parameters, {n_counted:,} are counted: {_reason(spec, tensors, n_held - n_counted)}"
    caveats.append(Caveat("KV018", "warning", message, "see what the model is made of: --explain lists parameters and files by role"))
    return spec._replace(exact=False, off_by=(0, more) if n_held > n_counted else (more, 0), caveats=tuple(caveats))


def _packed(spec: ModelSpec, held: Counter[str]) -> list[Caveat]:
    """What lies in an element type that only quantized weights have, while the config names no quantization."""
    packed = ", ".join(f"{n:,} in {dtype}" for dtype, n in held.items() if dtype not in PLAIN)
    if not packed:
        return []
    message = f"the files hold {packed}, the config names no quantization: counted in {spec.stored_dtype}, as they are loaded without one"
    return [Caveat("KV018", "warning", message, "is a quantization_config missing in the config?")]


def _computed(spec: ModelSpec) -> int:
    """Parameters that no file needs to hold and that take memory all the same: tables of sines.

    Source: transformers 5.24 models/marian, _keys_to_ignore_on_save.
    """
    return sum(group.n_params for group in spec.groups() if "embed_position" in group.name)


def _converted(spec: ModelSpec, held: Counter[str]) -> list[Caveat]:
    """What lies in another element type than the model is kept in."""
    expected = Counter[str]()
    for group in spec.groups():
        expected[group.dtype or spec.stored_dtype] += group.n_params
    other = {
        dtype: n - expected[dtype] for dtype, n in held.items() if dtype in PLAIN and n > expected[dtype] and dtype != spec.stored_dtype
    }
    if not other:
        return []
    found = ", ".join(f"{n:,} in {dtype}" for dtype, n in other.items())
    message = f"the config says {spec.stored_dtype}, of {held.total():,} elements the files hold {found}: converted while they are loaded"
    return [
        Caveat(
            "KV019",
            "note",
            message,
            f"downloads and disks hold the files' own bytes; --dtype {max(other, key=other.__getitem__)} keeps them",
        )
    ]


def _reason(spec: ModelSpec, tensors: Sequence[Tensor], more: int) -> str:
    """Why the files may hold ``more`` parameters than are counted, or fewer."""
    packed = sum(tensor.n_bytes for tensor in tensors if tensor.dtype not in PLAIN)
    if 2 * packed > sum(tensor.n_bytes for tensor in tensors):
        return "most are packed by a quantization that the config does not name"
    last = max((number for tensor in tensors if (number := layer_of(tensor.name)) is not None), default=spec.n_layers)
    if more < 0 and last + 1 < spec.n_layers:
        return f"they end with layer {last}, the config has {spec.n_layers} layers"
    table = next((t for t in tensors if "embed" in t.name and len(t.shape) == 2 and t.shape[1] == spec.hidden_size), None)
    if table is not None and table.shape[0] > 1 and table.shape[0] != spec.vocab_size and "pos" not in table.name:
        return f"'{table.name}' has {table.shape[0]:,} rows, the config's vocabulary {spec.vocab_size:,}"
    if abs(more) == spec.vocab_size * spec.hidden_size:
        return f"a table of the vocabulary {'more' if more > 0 else 'less'}, stored apart or shared"
    return "parts that the config does not speak of" if more > 0 else "parts that are left out or that the model shares"


def _quantized(spec: ModelSpec, checkpoint: Checkpoint) -> ModelSpec:
    held, counted = checkpoint.bytes_in("model"), spec.weight_bytes
    caveats = tuple(_known_by_headers(spec) if caveat.rule == "KV004" else caveat for caveat in spec.caveats)
    if caveats != spec.caveats:
        return spec._replace(caveats=caveats)
    if held == counted:
        return spec._replace(exact=True, off_by=(0, 0))
    if 100 * abs(held - counted) <= _FAR * counted:
        return spec
    message = f"the files hold {held:,} B of the model, '{spec.quantization}' as the config has it makes {counted:,} B: the files count"
    return spec._replace(caveats=(*caveats, Caveat("KV018", "warning", message, "check that the files are complete")))


def _known_by_headers(spec: ModelSpec) -> Caveat:
    message = f"unknown quantization method '{spec.quantization}': weights are counted as they lie in the files"
    return Caveat("KV020", "note", message, "what a kernel unpacks them into while it runs is not counted")
