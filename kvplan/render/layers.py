"""What a model's layers are made of, in words."""

from collections import Counter
from textwrap import wrap

from kvplan.core.model import Layer, ModelSpec

_COLUMNS = 80
_GLUE = "\N{NO-BREAK SPACE}"


def told(spec: ModelSpec) -> list[str]:
    """How many layers of each make there are, and lines for each mixer and feed-forward of it."""
    makes = Counter(_parts(layer) for layer in spec.layers())
    return [line for parts, n_layers in makes.items() for line in _under(f"{n_layers} × ", parts)]


def _parts(layer: Layer) -> tuple[str, ...]:
    """Its mixers, whose cache it reads, its feed-forwards."""
    mixers = [_part_text(mixer._asdict()) for mixer in layer.mixers] or ["no token mixing"]
    ffns = [_part_text(ffn._asdict()) for ffn in layer.ffns] or ["no feed-forward"]
    shared = [f"keys and values of layer {layer.kv_source}"] if layer.kv_source is not None else []
    return (*mixers, *shared, *ffns)


def _part_text(fields: dict[str, object]) -> str:
    kind = str(fields.pop("kind")).replace("_", " ")
    return f"{kind}: {_fields_text(fields)}"


def _fields_text(fields: dict[str, object]) -> str:
    """The fields that say something; no line breaks within one."""
    if fields.get("v_head_dim") == fields.get("head_dim"):
        fields.pop("v_head_dim", None)
    said = (_field_text(name, value) for name, value in fields.items() if value not in (None, 0, False))
    return ", ".join(text.replace(" ", _GLUE) if "(" not in text else text for text in said)


def _field_text(name: str, value: object) -> str:
    """``n_heads`` 32 is "32 heads", ``head_dim`` 128 "head dim 128", ``window_tokens`` 512 "window 512 tokens", ``gated`` that alone."""
    words = name.removeprefix("n_").removesuffix("_tokens").replace("_", " ")
    if value is True:
        return words
    if isinstance(value, tuple):
        return (
            f"{words} ({_fields_text(dict(zip(value._fields, value, strict=True)))})" if hasattr(value, "_fields") else f"{words} {value}"
        )
    shown = f"{value:,}" if isinstance(value, int) else str(value)
    if name.startswith("n_"):
        return f"{shown} {words.removesuffix('s') if value == 1 else words}"
    return f"{words} {shown}{' tokens' if name.endswith('_tokens') else ''}"


def _under(head: str, parts: tuple[str, ...]) -> list[str]:
    """``parts`` behind ``head``, each on lines of its own."""
    found = [line for part in parts for line in wrap(part, _COLUMNS - len(head), subsequent_indent="  ", break_on_hyphens=False)]
    return [(" " * len(head) if i else head) + line.replace(_GLUE, " ") for i, line in enumerate(found)]
