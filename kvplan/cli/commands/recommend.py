"""``kvplan recommend``."""

from typing import TYPE_CHECKING

from kvplan.cli import options, streams
from kvplan.cli.command import Command, Option, Said
from kvplan.cli.pasted import pasted
from kvplan.core.errors import EXIT_NO, EXIT_OK, RequestError
from kvplan.estimator import Options
from kvplan.recommender.case import GOALS

if TYPE_CHECKING:
    from kvplan.recommender.request import Request


def run(said: Said) -> int:
    """Ranked proposals; exit 1 when nothing fits."""
    from kvplan.recommender import answer

    found = answer(_request(said))
    if "json" in said.flags:
        from kvplan.render.envelope import dumps
        from kvplan.render.recommendation_json import as_json

        streams.write(dumps(as_json(found)) + "\n", said)
    else:
        from kvplan.render import recommendation

        streams.write(recommendation.text(found), said)
    return EXIT_OK if found.proposals else EXIT_NO


def _request(said: Said) -> "Request":
    from kvplan.recommender.prices import read_prices
    from kvplan.recommender.request import Request

    command = pasted(said)
    if not said.words and not command:
        raise RequestError("usage", "no MODEL was named", hint="kvplan recommend qwen3-8b --gpu l4; `kvplan models` shows all")
    known = {name: value for name, value in said.values.items() if name in Options._fields}
    known |= {"batch": said.values["concurrency"]} if "concurrency" in said.values else {}
    prices = read_prices(said.values["price"]) if "price" in said.values else ()
    return Request(
        Options(model=said.words[0] if said.words else None, command=command, **known),
        said.values.get("goal"),
        tuple(filter(None, said.values.get("keep", "").split(","))),
        prices,
    )


COMMAND = Command(
    name="recommend",
    help="Which settings to run: commands that fit for certain, the best first, and why not more.\n\n"
    "MODEL as for estimate. After -- stands the command that you have: then the smallest change that makes it fit, or fit better.",
    argument="[MODEL] [-- ENGINE COMMAND]",
    options=(
        Option("--goal", "What counts most; without it quality does, then sequences at once.", "Search", "GOAL", choices=GOALS),
        Option("--ctx", "Tokens that one sequence must hold at least.", "Search", "N"),
        Option("--concurrency", "Sequences at once that must fit at least.", "Search", "N"),
        Option("--keep", "Flags that must stay as they are, with commas: max-model-len,kv-cache-dtype.", "Search", "FLAGS"),
        Option("--price", "Prices of an hour by GPU (TSV or YAML): the cost of a million tokens.", "Search", "FILE"),
        *options.PRECISION,
        options.ENGINE[0],
        *(option for option in options.ENGINE if option.flag in ("--tp", "--pp")),
        options.COMMAND_FILE,
        *options.HARDWARE,
        *options.OUTPUT,
        options.DEBUG,
    ),
    examples=(
        "kvplan recommend qwen3-8b --gpu l4",
        "kvplan recommend llama-3.1-8b --gpu rtx-3060-12 --goal context",
        "kvplan recommend llama-3.1-70b --gpu any --ctx 8k --concurrency 4",
        "kvplan recommend --gpu l4 -- vllm serve qwen3-8b --max-model-len 32768",
    ),
    run=run,
)
