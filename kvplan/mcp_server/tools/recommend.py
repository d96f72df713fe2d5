"""The tool ``recommend``."""

from typing import Literal

from pydantic import Field

from kvplan import recommender
from kvplan.mcp_server.asked import Count, Subject, network
from kvplan.recommender.request import Request
from kvplan.render.envelope import dumps
from kvplan.render.recommendation_json import as_json

NAME = "recommend"
DESCRIPTION = (
    "Which settings to run a model with on a GPU: commands that fit for certain, the best first, with what each costs in quality and why "
    "not more; of a command that exists, the smallest change that makes it fit. Answers as `kvplan recommend --json`."
)


class Asked(Subject):
    """A model or a command, the hardware (``gpu`` may be ``any``), and what must be served at least."""

    concurrency: Count | None = Field(None, description="sequences at once that must fit at least")
    goal: Literal["context", "concurrency", "latency", "throughput", "quality"] | None = Field(None, description="what counts most")
    keep: list[str] = Field([], description="flags that must stay as they are: max-model-len")


def answer(asked: Asked) -> str:
    """The proposals. Raises KvplanError for a wrong request."""
    asked.refuse_stdin()
    with network(online=asked.online):
        return dumps(as_json(recommender.answer(Request(asked.options(asked.concurrency), asked.goal, tuple(asked.keep)))))
