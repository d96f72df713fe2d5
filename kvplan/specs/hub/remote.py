"""A file of the Hub, read by ranges."""

from kvplan.core.errors import UnavailableError
from kvplan.specs.hub import failures
from kvplan.specs.hub.transport import Answer, Transport, Wanted


class RemoteFile:
    """A ``Source`` at an address. Its first bytes are kept once read, and the address that redirects lead to.

    A size of 0 is unknown until the first answer.
    """

    def __init__(self, transport: Transport, url: str, *, name: str, repo_id: str, size: int = 0) -> None:
        """Nothing is read yet."""
        self.name = name
        self._transport, self._asked = transport, transport.asked(name, repo_id)
        self._url = self._last_url = url
        self._size, self._head = size, b""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        if not self._size:
            self.preload(1)
        return self._size

    def read(self, start: int, stop: int) -> bytes:
        """See ``Source.read``. Raises UnavailableError."""
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        if stop <= len(self._head):
            return self._head[start:stop]
        if start == 0:
            self.preload(stop)
            return self._head
        kept = self._head[start:]
        return kept + self._fetch(start + len(kept), stop)

    def preload(self, stop: int) -> None:
        """Have the first ``stop`` bytes at hand."""
        stop = min(stop, self._size or stop)
        if stop > len(self._head):
            self._head += self._fetch(len(self._head), stop)

    def _fetch(self, start: int, stop: int) -> bytes:
        answer = self._answer(start, stop)
        if answer.total is None and not self._size:
            raise failures.bad_answer(self._asked, "a file of unknown size")
        if self._size and answer.total not in (None, self._size):
            raise failures.bad_answer(self._asked, f"a file of {answer.total} bytes instead of {self._size}")
        self._size = self._size or answer.total or 0
        self._last_url = answer.url
        return answer.body

    def _answer(self, start: int, stop: int) -> Answer:
        """From where the redirects led before, or anew where that holds no longer: signed addresses expire."""
        try:
            return self._transport.get(Wanted(self._last_url, self._asked, start, stop))
        except UnavailableError as problem:
            if problem.kind != "hub_refused" or self._last_url == self._url:
                raise
            return self._transport.get(Wanted(self._url, self._asked, start, stop))
