"""The tool ``estimate``."""

from pydantic import Field

from kvplan import estimator
from kvplan.mcp_server.asked import Count, Subject, network
from kvplan.render import json_
from kvplan.render.envelope import dumps

NAME = "estimate"
DESCRIPTION = (
    "Where the memory of an LLM goes, before it is run: weights, KV cache, activations and overhead by engine and version; whether it fits "
    "the GPU, which context and concurrency are left, what the engine will refuse. Answers as `kvplan estimate --json`."
)


class Asked(Subject):
    """A model or a command, the workload and the hardware."""

    batch: Count | None = Field(None, description="sequences at once")
    prompt: Count | None = Field(None, description="tokens prefilled in one forward; default ctx − 1")


def answer(asked: Asked) -> str:
    """The estimate. Raises KvplanError for a wrong request."""
    asked.refuse_stdin()
    with network(online=asked.online):
        return dumps(json_.estimate(estimator.answer(asked.options(asked.batch))))
