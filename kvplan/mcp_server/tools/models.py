"""The tool ``models``."""

from pydantic import Field

from kvplan.core.errors import RequestError
from kvplan.mcp_server.asked import STDIN, Online, network
from kvplan.render import models

NAME = "models"
DESCRIPTION = (
    "The models that are built in, filtered by words; of one model its parameters, layers and bytes by role. Answers as "
    "`kvplan models --json`."
)


class Asked(Online):
    """A model, or words that its name has."""

    words: str = Field("", description="a model as for estimate, or words such as qwen3; nothing lists all")


def answer(asked: Asked) -> str:
    """The catalogue or the model. Raises KvplanError for what is neither."""
    if asked.words == STDIN:
        raise RequestError("usage", "'-' is stdin, which the protocol needs", hint="name a file")
    with network(online=asked.online):
        return models.listing(asked.words, as_json=True)
