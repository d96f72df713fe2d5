"""``kvplan compare``."""

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_OK
from kvplan.estimator import Options


def run(said: Said) -> int:
    """Every side beside the first."""
    from kvplan.comparer import compared, sides
    from kvplan.render import comparison
    from kvplan.render.envelope import dumps

    known = {name: value for name, value in said.values.items() if name in Options._fields}
    found = compared(sides(Options(command=(), **known), said.words, pasted(said)))
    streams.write(dumps(comparison.as_json(found)) + "\n" if "json" in said.flags else comparison.text(found), said)
    return EXIT_OK


COMMAND = Command(
    name="compare",
    help="Models, engines, versions, GPUs or whole commands side by side: where the bytes differ, and what fits.\n\n"
    "Lists with commas in --engine, --gpu, --dtype, --kv-dtype, --ctx, --batch and --tp make the sides; so do several MODELs, or several "
    "commands with -- between them. The first side is the measure of the others.",
    argument="[MODEL...] [-- ENGINE COMMAND [-- ENGINE COMMAND...]]",
    options=(
        *options.WORKLOAD,
        *options.PRECISION,
        *options.ENGINE,
        options.COMMAND_FILE,
        *options.HARDWARE,
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=(
        "kvplan compare qwen3-8b llama-3.1-8b --gpu l4 --ctx 8k",
        "kvplan compare qwen3-8b --gpu l4,l40s,h100-sxm --engine vllm --ctx 32k",
        "kvplan compare --gpu l4 --engine vllm@0.19.0,vllm@0.33.0 -- vllm serve qwen3-8b --max-model-len 8192",
        "kvplan compare --gpu l4 -- vllm serve qwen3-8b --max-model-len 8k -- vllm serve qwen3-8b --max-model-len 8k --enforce-eager",
    ),
    run=run,
    many=True,
)
