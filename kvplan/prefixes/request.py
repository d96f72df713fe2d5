"""One request of a log, as far as a cache of prefixes sees it."""

from typing import NamedTuple


class Message(NamedTuple):
    """A turn: who says it, its text, and what else of it stands in the prompt (calls of tools, names), as JSON with keys as they came."""

    role: str
    text: str
    extra: str = ""


class Tool(NamedTuple):
    """A tool that the model may call: its name, and its JSON with keys as they came."""

    name: str
    json: str


class Request(NamedTuple):
    """A prompt (``ids`` as bytes, four a token, or ``text``, or ``messages`` with ``tools``) and what is said of it.

    ``answer`` is the text or the ids that were written, ``n_output`` how many tokens where only that is known. ``apart`` holds what keeps
    its blocks from others' (a salt, an adapter or another model); ``n_media`` counts pictures and sounds, which stand as their address.
    """

    line: int
    ids: bytes | None = None
    text: str | None = None
    messages: tuple[Message, ...] = ()
    tools: tuple[Tool, ...] = ()
    answer: str | bytes | None = None
    n_output: int | None = None
    session: str | None = None
    user: str | None = None
    time: float | None = None
    apart: tuple[str | None, str | None] = (None, None)
    n_media: int = 0

    @property
    def is_chat(self) -> bool:
        """Whether it is a list of messages."""
        return self.ids is None and self.text is None
