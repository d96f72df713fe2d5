"""Write what replays had of the built-in models, by their shapes, to kvplan/engines/transformers/shapes.py: each takes milliseconds.

usage: python -m tests.bench.replayed_shapes
"""

from pathlib import Path

from kvplan.engines.transformers.fragments import replayed, shape
from kvplan.specs.builtin import ids
from kvplan.verifier.configs import config_of
from tests.engines.transformers.running import deployment, gpu, model

PATH = Path(__file__).parents[2] / "kvplan" / "engines" / "transformers" / "shapes.py"
HEAD = '''"""What replays of orders had, by shape: a remembered result, not a table of models. Written by tests/bench/replayed_shapes.py.

Any other shape is replayed when it is asked for; a test replays these again.
"""

SHAPES: dict[int, tuple[int, ...]] = {
'''


def shapes() -> dict[int, tuple[int, ...]]:
    """Of every built-in model whose order was traced."""
    found: dict[int, tuple[int, ...]] = {}
    for name in ids():
        spec = model(config_of(name))
        if not (spec.form.order or spec.form.moe_order):
            continue
        for segments in ("False", "True"):
            plan = deployment(spec, {"dtype": "bfloat16", "expandable_segments": segments}, node=gpu())._footprint.plan
            raw = replayed(spec, plan)
            if raw:
                found[shape(spec, plan)] = tuple(raw)
    return found


def main() -> None:
    """Write the file."""
    lines = [f"    {key}: {value}," for key, value in sorted(shapes().items())]
    PATH.write_text(HEAD + "\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
