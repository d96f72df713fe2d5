"""What only the Hub's client knows: whose token to send, and which HTTP library it speaks with."""

import os
import sys
from types import ModuleType


def token() -> tuple[str, str]:
    """The user's token and where it comes from; nothing where there is none or it shall not be sent."""
    from huggingface_hub import constants, get_token

    found = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    if not found:
        return "", ""
    named = next((name for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN") if os.environ.get(name, "").strip() == found), None)
    return found, f"in {named or constants.HF_TOKEN_PATH}"


def http_library() -> ModuleType:
    """httpx, or httpx2 since 2.x: the base of the client's errors comes from it."""
    from huggingface_hub.errors import HfHubHTTPError

    base = next(cls for cls in HfHubHTTPError.__mro__ if cls.__name__ == "HTTPError")
    return sys.modules[base.__module__.partition(".")[0]]
