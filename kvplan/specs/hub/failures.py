"""What goes wrong between here and the Hub, in words: each answer and each broken connection its own error."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kvplan.core.errors import KvplanError, RequestError, UnavailableError

RETRIED = (408, 429, 500, 502, 503, 504)
MAX_WAIT_S = 60  # what the Hub may ask us to wait; its windows are five minutes long
WAITS_S = (1, 2, 4)  # between tries, where it asks for nothing


class Asked(NamedTuple):
    """What was asked for: ``what`` names it in errors, ``token_from`` says where the token came from, if one was sent."""

    what: str
    repo_id: str
    endpoint: str
    revision: str = ""
    token_from: str = ""

    @property
    def host(self) -> str:
        """The host's name, as people know it: without a password that may stand before it."""
        return self.endpoint.partition("://")[2].partition("/")[0].rpartition("@")[2]

    @property
    def page(self) -> str:
        """The address of the model, for people to open."""
        scheme, _, rest = self.endpoint.partition("://")
        return f"{scheme}://{self.host}{''.join(rest.partition('/')[1:])}/{self.repo_id}"


class Refusal(Exception):
    """An answer that is none: its status, headers (lower-case names) and the start of its body."""

    def __init__(self, status: int, headers: Mapping[str, str], text: str) -> None:
        """Nothing is read any more when it is raised."""
        super().__init__(f"status {status}")
        self.status, self.headers, self.text = status, headers, text

    @property
    def reason(self) -> str:
        """The server's own words, where they are words."""
        text = self.headers.get("x-error-message", "") or ("" if self.text.lstrip().startswith("<") else self.text)
        found = re.search(r'"error":\s*"([^"]{0,200})', text)
        return (found[1] if found else text).strip()[:200]

    def wait(self, tries: int) -> float | None:
        """Seconds to wait after so many tries, None where trying again is of no use."""
        if self.status not in RETRIED or tries > len(WAITS_S):
            return None
        told = self.told_wait()
        return WAITS_S[tries - 1] if told is None else told if told <= MAX_WAIT_S else None

    def told_wait(self) -> float | None:
        """Seconds that the server asks to wait: RateLimit (draft-ietf-httpapi-ratelimit-headers) or Retry-After (RFC 9110)."""
        found = re.search(r"\br=0\s*;\s*t=(\d{1,9})", self.headers.get("ratelimit", "")) if self.status == 429 else None
        if found:
            return int(found[1]) + 1  # its seconds are rounded down
        after = self.headers.get("retry-after", "").strip()
        seconds = number(after)
        return _until(after) if seconds is None else seconds


def number(text: str) -> int | None:
    """The whole number that a header gives, None for what is none that can be meant."""
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else None


def _until(date: str) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, (parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a zone
        return None


def refused(asked: Asked, refusal: Refusal) -> KvplanError:
    """The error for an answer of the Hub that refuses, from its status and its X-Error-Code (huggingface_hub 2.4 utils/_http.py)."""
    code, status = refusal.headers.get("x-error-code", ""), refusal.status
    if code == "GatedRepo":
        return _gated(asked)
    if status == 401 and asked.token_from and "invalid credentials" in refusal.reason.lower():
        hint = "leave the token out for public models, or make a new one in the settings of the account"
        return UnavailableError("bad_token", f"{asked.what}: {asked.host} does not know the token {asked.token_from}", hint=hint)
    if status == 401 or code == "RepoNotFound":
        return _no_repo(asked)
    if code == "RevisionNotFound":
        message = f"{asked.repo_id}: no branch, tag or commit '{asked.revision}'"
        return RequestError("revision_not_found", message, hint=f"{asked.repo_id} alone is its main branch")
    if code == "EntryNotFound":
        return RequestError("file_not_found", f"{asked.what}: no such file in the repository", hint="check its name")
    if status == 403 and "disabled" in refusal.reason.lower():
        return UnavailableError("repo_disabled", f"{asked.what}: {asked.host} has disabled this model", hint="point at a config.json")
    if status == 416 and refusal.headers.get("content-range") == "bytes */0":
        return RequestError("bad_file", f"{asked.what}: the file is empty", hint="tell the model's author")
    return _unexpected(asked, refusal)


def _gated(asked: Asked) -> KvplanError:
    if not asked.token_from:
        message = f"{asked.what}: gated: {asked.host} gives it to accounts that have accepted the terms, and no token was sent"
        hint = f"accept the terms at {asked.page}, then set HF_TOKEN or run `hf auth login`"
        return UnavailableError("gated_no_token", message, hint=hint)
    message = f"{asked.what}: gated, and the account of the token {asked.token_from} is not on its list"
    return UnavailableError("gated_no_access", message, hint=f"ask for access at {asked.page}")


def _no_repo(asked: Asked) -> KvplanError:
    look = "and whether the token may read it" if asked.token_from else "and if it is private, set HF_TOKEN or run `hf auth login`"
    message = f"{asked.repo_id}: no such model at {asked.host}, or a private one: the answer is the same"
    return RequestError("repo_not_found", message, hint=f"check the name, {look}")


def _unexpected(asked: Asked, refusal: Refusal) -> KvplanError:
    status, said = refusal.status, f" ({refusal.reason})" if refusal.reason else ""
    if status == 429:
        told = refusal.told_wait()
        wait = f": it asks to wait {told:.0f} s" if told is not None and told > MAX_WAIT_S else ""
        higher = "" if asked.token_from else "; with HF_TOKEN the limit is higher"
        return UnavailableError("rate_limited", f"{asked.host}: too many requests{wait}", hint=f"try again later{higher}")
    if status >= 500 or status == 408:
        return UnavailableError("hub_error", f"{asked.host}: answered {status}{said}", hint="try again later")
    hint = "does HF_ENDPOINT name a Hub?" if status == 404 else "check HF_ENDPOINT, HF_TOKEN and the proxy"
    return UnavailableError("hub_refused", f"{asked.what}: {asked.host} answered {status}{said}", hint=hint)


def stalled(asked: Asked) -> UnavailableError:
    """No byte for the whole time limit, or far too few."""
    hint = "try again; HF_HUB_DOWNLOAD_TIMEOUT and HF_HUB_ETAG_TIMEOUT set the seconds to wait"
    return UnavailableError("stalled", f"{asked.what}: {asked.host} stopped answering", hint=hint)


def no_connection(asked: Asked, reason: str) -> UnavailableError:
    """Nobody there."""
    hint = "check the network, HF_ENDPOINT and the proxy, or point at a config.json"
    return UnavailableError("no_connection", f"{asked.host}: no connection: {reason}", hint=hint)


def no_session(asked: Asked, reason: str) -> UnavailableError:
    """Proxies or certificates that the client can't use."""
    hint = "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
    return UnavailableError("no_connection", f"{asked.host}: no connection can be made: {reason}", hint=hint)


def cut_off(asked: Asked, reason: str) -> UnavailableError:
    """A connection that broke before the answer was whole."""
    return UnavailableError("cut_off", f"{asked.what}: the connection to {asked.host} broke: {reason.rstrip('.')}", hint="try again")


def bad_answer(asked: Asked, problem: str) -> UnavailableError:
    """An answer that can't be one of the Hub's."""
    hint = "does HF_ENDPOINT name a Hub, and is there a proxy or a login page in between?"
    return UnavailableError("bad_answer", f"{asked.what}: {asked.host} answered with {problem}", hint=hint)
