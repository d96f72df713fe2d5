"""What only the Hub's client knows: its settings, whose token to send, and which HTTP library it speaks with."""

import os
import sys
from types import ModuleType
from urllib.parse import urlsplit

from kvplan.core.errors import UnavailableError


def settings() -> ModuleType:
    """The client's constants, which it makes of the environment. Raises UnavailableError where it can't."""
    try:
        from huggingface_hub import constants
    except ValueError as problem:  # it reads numbers and addresses when it is imported
        found = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("HF_") and value and value in str(problem)]
        hint = f"check {' and '.join(found) or 'HF_ENDPOINT and the numbers in variables HF_…'}"
        raise UnavailableError("bad_environment", f"the Hub's client can't read its settings: {problem}", hint=hint) from None
    return constants


def checked_endpoint() -> str:
    """The address of the Hub. Raises UnavailableError where HF_ENDPOINT names none."""
    endpoint: str = settings().ENDPOINT
    try:
        parts = urlsplit(endpoint)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not (parts.query or parts.fragment)
    except ValueError:  # brackets or a port that are none
        sound = False
    if not sound or not endpoint.isprintable() or " " in endpoint:
        message = f"HF_ENDPOINT: expected the address of a Hub, as in https://huggingface.co, found '{endpoint}'"
        raise UnavailableError("bad_environment", message, hint="unset it, or write the address with its http:// or https://")
    return endpoint


def checked_timeouts() -> tuple[float, float]:
    """Seconds to wait for the Hub's answers, and for bytes of files. Raises UnavailableError where there are none."""
    constants = settings()
    for name in ("HF_HUB_ETAG_TIMEOUT", "HF_HUB_DOWNLOAD_TIMEOUT"):
        seconds = getattr(constants, name)
        if not 0 < seconds <= _MOST_SECONDS:
            message = f"{name}: expected seconds from 1 to {_MOST_SECONDS}, found {seconds}"
            raise UnavailableError("bad_environment", message, hint="unset it, or set some ten seconds")
    return constants.HF_HUB_ETAG_TIMEOUT, constants.HF_HUB_DOWNLOAD_TIMEOUT


def token() -> tuple[str, str]:
    """The user's token and where it comes from; nothing where there is none or it shall not be sent.

    Raises UnavailableError for one that can't be sent or read.
    """
    from huggingface_hub import get_token

    constants = settings()
    try:
        found = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    except NotADirectoryError:  # HF_HOME is a file
        found = None
    except (OSError, ValueError) as problem:  # ValueError: no text
        raise _bad_token(f"{constants.HF_TOKEN_PATH}: {getattr(problem, 'strerror', None) or 'expected text'}") from None
    if not found:
        return "", ""
    named = next((name for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN") if _clean(os.environ.get(name, "")) == found), None)
    place = f"in {named or constants.HF_TOKEN_PATH}"
    if not (found.isascii() and found.isprintable()):
        raise _bad_token(f"the token {place} has characters that none has")
    return found, place


def http_library() -> ModuleType:
    """httpx, or httpx2 since 2.x: the base of the client's errors comes from it."""
    from huggingface_hub.errors import HfHubHTTPError

    base = next(cls for cls in HfHubHTTPError.__mro__ if cls.__name__ == "HTTPError")
    return sys.modules[base.__module__.partition(".")[0]]


def _bad_token(message: str) -> UnavailableError:
    return UnavailableError("bad_token", message, hint="set HF_TOKEN anew, or HF_HUB_DISABLE_IMPLICIT_TOKEN=1 to send none")


def _clean(value: str) -> str:
    """As the client reads tokens: huggingface_hub 2.4 utils/_auth.py."""
    return value.replace("\r", "").replace("\n", "").strip()


_MOST_SECONDS = 86_400
