"""From requests to tokens, as bytes of four each: ids as they are, text by a tokenizer, or by a stand-in."""

from array import array
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.prefixes.rendering import Render, plain, template
from kvplan.prefixes.request import Request
from kvplan.replay.blocks import TOKEN_BYTES

Encode = Callable[[str], bytes]


class Encoded(NamedTuple):
    """The known tokens of a request, prompt and answer; how many are its prompt, how many it leaves in the cache, how many it writes."""

    content: bytes
    n_prompt: int
    n_kept: int
    n_output: int


class Tokens(NamedTuple):
    """How text becomes tokens: ``how`` is ``tokenizer`` or ``bytes``, ``source`` the file; ``rendering`` is ``template`` or ``plain``."""

    how: str
    source: str | None
    rendering: str
    encode: Encode
    render: Render

    def prompt(self, request: Request) -> bytes:
        """The tokens of a prompt."""
        if request.ids is not None:
            return request.ids
        return self.encode(self.render(request) if request.text is None else request.text)

    def encoded(self, request: Request) -> Encoded:
        """The tokens of a request. The last one written is never an input, so nothing is kept of it."""
        prompt = self.prompt(request)
        n_prompt = -(-len(prompt) // TOKEN_BYTES)
        written, n_output = self._written(request)
        return Encoded(prompt + written, n_prompt, n_prompt + max(0, n_output - 1), n_output)

    def _written(self, request: Request) -> tuple[bytes, int]:
        """The tokens of an answer as far as they are known, and their number."""
        answer = request.answer
        if answer is None:
            return b"", request.n_output or 0
        content = self.encode(answer) if isinstance(answer, str) else answer
        known = self.how == "tokenizer" or (request.ids is not None) == isinstance(answer, bytes)
        return content if known else b"", -(-len(content) // TOKEN_BYTES)


def stand_in(text: str) -> bytes:
    """Four bytes of UTF-8 are a token: what begins alike has tokens that begin alike, and English comes near its real number."""
    return text.encode("utf-8", "surrogatepass")


BYTES = Tokens("bytes", None, "plain", stand_in, plain)


def tokens_by(said: str | None, model: str | None, *, templated: bool) -> Tokens:
    """The tokens of ``said``, a tokenizer.json or a directory with one, else of the model's directory, else the stand-in.

    ``templated``: chats are rendered by the model's own template where it has one. Raises RequestError for a file that is none,
    UnavailableError where one was asked for and the package is missing.
    """
    file = _file(said or model or "")
    if file is None or not file.is_file():
        if said is not None:
            raise RequestError("bad_file", f"--tokenizer {said}: no tokenizer.json there", hint="name the file, or a directory with one")
        return BYTES
    try:
        from tokenizers import Tokenizer
    except ImportError:
        if said is None:
            return BYTES
        raise UnavailableError(
            "missing_package", "--tokenizer needs the package tokenizers", hint="pip install 'kvplan[tokenizers]'"
        ) from None
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as problem:  # the package raises that and nothing narrower
        raise RequestError("bad_file", f"{file}: no tokenizer: {problem}", hint="name a tokenizer.json of the package tokenizers") from None
    found = template(file.parent) if templated else None

    def encode(text: str) -> bytes:
        return array("I", tokenizer.encode(text, add_special_tokens=False).ids).tobytes()

    return Tokens("tokenizer", str(file), "template" if found else "plain", encode, found.rendering() if found else plain)


def _file(said: str) -> Path | None:
    path = Path(said) if said else None
    if path is None:
        return None
    if path.is_dir():
        return path / "tokenizer.json"
    return path.parent / "tokenizer.json" if path.name == "config.json" else path if path.name.endswith("tokenizer.json") else None
