"""Requests to the Hub through its client's session: bounded in bytes, in time and in tries.

The client's own download functions sleep as long as a server asks and resume for as long as it sends a few bytes; here
every request ends. Redirects to other origins lose the token (httpx does so).
"""

import threading
from collections.abc import Iterator
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple

from kvplan.core.errors import KvplanError
from kvplan.specs.hub import failures, progress
from kvplan.specs.hub.client import checked_endpoint, checked_timeouts, http_library, settings, token
from kvplan.specs.hub.failures import Asked, Refusal, number

if TYPE_CHECKING:
    from collections.abc import Mapping

SLOWEST_BYTES_PER_S = 16 * 2**10  # slower than this is as good as stalled
MAX_SKIPPED = 4 * 2**20  # what is read past, of a server that sends whole files where ranges were asked for
BROKEN_TRIES = 2
_MAX_TEXT = 2000


class Wanted(NamedTuple):
    """A request: bytes ``start`` up to ``stop`` as a range, or all (at most ``most``) where ``stop`` is None."""

    url: str
    asked: Asked
    start: int = 0
    stop: int | None = None
    most: int = 0


class Answer(NamedTuple):
    """What came: the bytes, the whole file's size where it was said, the address that the bytes came from at last."""

    body: bytes
    total: int | None
    url: str


class Broken(Exception):
    """A request that may do better the next time; ``error`` is what to say if not."""

    def __init__(self, error: KvplanError) -> None:
        """``error`` is raised when no try is left."""
        super().__init__(error.message)
        self.error = error


class Transport:
    """The way to the Hub that the environment describes: endpoint, token, time limits. Used from several threads."""

    def __init__(self) -> None:
        """Import the client, which reads the environment when it is imported first. Raises UnavailableError where that is wrong."""
        self.offline: bool = settings().HF_HUB_OFFLINE
        if self.offline:
            return
        self.endpoint = checked_endpoint()
        self.ask_timeout_s, self.read_timeout_s = checked_timeouts()
        self._http = http_library()
        self._token, self.token_from = token()
        self._lock = threading.Lock()
        self._said: set[str] = set()

    def asked(self, what: str, repo_id: str, revision: str = "") -> Asked:
        """What errors are told of a request."""
        return Asked(what, repo_id, self.endpoint, revision, self.token_from)

    def get(self, wanted: Wanted) -> Answer:
        """The answer, after some waiting where the Hub asks for it. Raises KvplanError when there is none."""
        tries, broken = 0, 0
        while True:
            tries += 1
            try:
                return self._once(wanted)
            except Refusal as refusal:
                wait, error = refusal.wait(tries), failures.refused(wanted.asked, refusal)
            except Broken as problem:
                broken += 1
                wait, error = (failures.WAITS_S[0], problem.error) if broken < BROKEN_TRIES else (None, problem.error)
            if wait is None:
                raise error
            self._tell(f"{error.message}: trying again in {wait:.0f} s")
            sleep(wait)

    def _tell(self, text: str) -> None:
        """Once, however many threads wait for the same."""
        with self._lock:
            if text not in self._said:
                self._said.add(text)
                progress.notice(text)

    def _once(self, wanted: Wanted) -> Answer:
        """One request. Raises Refusal, Broken, or KvplanError where trying again is of no use."""
        http, asked, session = self._http, wanted.asked, self._session(wanted.asked)
        try:
            with session.stream(
                "GET", wanted.url, headers=self._headers(wanted), timeout=self._timeout_s(wanted), follow_redirects=True
            ) as response:
                return self._read(wanted, response)
        except (http.ConnectError, http.ConnectTimeout, http.ProxyError, http.UnsupportedProtocol) as problem:
            raise failures.no_connection(asked, str(problem) or type(problem).__name__) from None
        except http.TimeoutException:
            raise Broken(failures.stalled(asked)) from None
        except (http.TooManyRedirects, http.DecodingError, http.InvalidURL, UnicodeError) as problem:
            raise failures.bad_answer(asked, f"something unreadable: {problem}") from None
        except http.HTTPError as problem:
            raise Broken(failures.cut_off(asked, str(problem) or type(problem).__name__)) from None

    def _session(self, asked: Asked) -> Any:
        """The client's, which it makes of proxies and certificates in the environment when it is asked first."""
        from huggingface_hub import get_session

        try:
            return get_session()
        except (ImportError, ValueError, OSError, self._http.InvalidURL) as problem:
            raise failures.no_session(asked, str(problem)) from None

    def _headers(self, wanted: Wanted) -> dict[str, str]:
        headers = {"user-agent": "kvplan", "accept-encoding": "identity"}
        if self._token and f"{wanted.url}/".startswith(f"{self.endpoint}/"):
            headers["authorization"] = f"Bearer {self._token}"
        if wanted.stop is not None:
            headers["range"] = f"bytes={wanted.start}-{wanted.stop - 1}"
        return headers

    def _timeout_s(self, wanted: Wanted) -> float:
        return self.ask_timeout_s if wanted.stop is None else self.read_timeout_s

    def _read(self, wanted: Wanted, response: Any) -> Answer:
        headers: Mapping[str, str] = {key.lower(): value for key, value in response.headers.items()}
        chunks = self._chunks(wanted, response)
        if not 200 <= response.status_code < 300:
            text = _joined(chunks, _MAX_TEXT).decode("utf-8", "replace")
            raise Refusal(response.status_code, headers, text)
        if "text/html" in headers.get("content-type", ""):
            raise failures.bad_answer(wanted.asked, "a web page")
        if wanted.stop is None:
            body = _joined(chunks, wanted.most + 1)
            if len(body) > wanted.most:
                raise failures.bad_answer(wanted.asked, f"more than {wanted.most // 2**20} MiB")
            return Answer(body, len(body), str(response.url))
        skipped, total = _placed(wanted, response.status_code, headers)
        length = wanted.stop - wanted.start
        past_end = 1 if response.status_code == 206 else 0  # an answer read to its end leaves the connection open
        body = _joined(chunks, skipped + length + past_end)[skipped : skipped + length]
        if len(body) < length and (total is None or wanted.start + len(body) < total):
            raise Broken(failures.cut_off(wanted.asked, f"{len(body)} of {length} bytes came"))
        return Answer(body, total, str(response.url))

    def _chunks(self, wanted: Wanted, response: Any) -> Iterator[bytes]:
        """The body as it comes. Raises Broken when it comes so slowly that it would never end."""
        began, n_read = monotonic(), 0
        for chunk in response.iter_bytes():
            n_read += len(chunk)
            yield chunk
            if monotonic() - began > self._timeout_s(wanted) + n_read / SLOWEST_BYTES_PER_S:
                raise Broken(failures.stalled(wanted.asked))


def _placed(wanted: Wanted, status: int, headers: "Mapping[str, str]") -> tuple[int, int | None]:
    """Bytes to read past before the range begins, and the whole file's size. Raises KvplanError where it can't be reached."""
    if status == 206:
        unit, _, place = headers.get("content-range", "").partition(" ")
        first, _, rest = place.partition("-")
        _, _, total = rest.partition("/")
        if unit != "bytes" or first != str(wanted.start) or headers.get("content-encoding", "identity") != "identity":
            raise failures.bad_answer(wanted.asked, f"another range than asked for ({headers.get('content-range', 'none named')})")
        return 0, number(total)
    if wanted.start > MAX_SKIPPED:
        raise failures.bad_answer(wanted.asked, "the whole file where a range was asked for")
    return wanted.start, number(headers.get("content-length", ""))


def _joined(chunks: Iterator[bytes], most: int) -> bytes:
    """The first ``most`` bytes, and no more than a chunk is read beyond them."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) >= most:
            break
    return bytes(body[:most])
