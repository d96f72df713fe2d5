"""A window that slides over a file's header: fetched in growing steps, what is read is dropped."""

import struct

from kvplan.core.errors import RequestError
from kvplan.specs.sources import Source

FIRST_BYTES = 32 * 2**10
MOST_BYTES = 4 * 2**20  # of one step: what the window holds at most, whatever the vocabulary
MAX_FETCHED = 128 * 2**20  # real headers have 16 MiB at most
MAX_STRINGS = 2 * 2**20  # tokens and merges of the largest real vocabularies are 800,000

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Window:
    """Reads little-endian values one after the other. Each step doubles what was fetched, so that it is at most twice what is read.

    Every method raises RequestError (``bad_gguf``) where the file ends first, and KvplanError where it can't be read.
    """

    def __init__(self, source: Source) -> None:
        """Nothing is fetched yet."""
        self.source = source
        self.fetched = 0
        self._data, self._start, self._at = b"", 0, 0  # the window, its place in the file, the place in it
        self._strings_left = MAX_STRINGS

    @property
    def offset(self) -> int:
        """Where in the file the next value begins, in bytes."""
        return self._start + self._at

    def error(self, offset: int, text: str, *, hint: str = "the file is damaged or no GGUF: fetch it again") -> RequestError:
        """What is wrong at a byte of the file."""
        return RequestError("bad_gguf", f"{self.source.name}: byte {offset:,}: {text}", hint=hint)

    def u32(self) -> int:
        """The next 4 bytes, unsigned."""
        return self.whole(_U32)[0]

    def u64(self) -> int:
        """The next 8 bytes, unsigned."""
        return self.whole(_U64)[0]

    def whole(self, layout: struct.Struct) -> tuple[int, ...]:
        """The next whole numbers, as ``layout`` has them."""
        self._hold(layout.size)
        self._at += layout.size
        return layout.unpack_from(self._data, self._at - layout.size)

    def text(self, what: str, *, most: int) -> str:
        """The next string, of at most ``most`` bytes of UTF-8, else RequestError."""
        offset, n_bytes = self.offset, self.u64()
        if n_bytes > most:
            raise self.error(offset, f"expected {what} of at most {most:,} bytes, found a length of {n_bytes:,}")
        raw = self.take(n_bytes)
        try:
            return raw.decode()
        except UnicodeDecodeError as problem:
            found = f"byte {raw[problem.start]:#04x}"
            raise self.error(offset + 8 + problem.start, f"expected {what} in UTF-8, found {found}") from None

    def take(self, n_bytes: int) -> bytes:
        """The next ``n_bytes``, which must be few."""
        self._hold(n_bytes)
        self._at += n_bytes
        return self._data[self._at - n_bytes : self._at]

    def skip(self, n_bytes: int, what: str) -> None:
        """Leave ``n_bytes`` out, fetching none of them that the window does not hold yet."""
        if self.offset + n_bytes > self.source.size:
            raise self._cut(f"{what} of {n_bytes:,} bytes")
        self._at += n_bytes

    def skip_strings(self, n: int) -> None:
        """Leave ``n`` strings out."""
        if n > self._strings_left:
            raise self.error(self.offset, f"expected at most {MAX_STRINGS:,} strings, found an array that makes them more")
        self._strings_left -= n
        while n:
            self._hold(8)
            n, after, length = _pass_strings(self._data, self._at, n)
            self._at = after - length
            self.skip(length, "a string")  # the last one may go on beyond the window, or beyond the file

    def _hold(self, n_bytes: int) -> None:
        """Fetch on until the next ``n_bytes`` are in the window."""
        if len(self._data) - self._at >= n_bytes:
            return
        if self.offset + n_bytes > self.source.size:
            raise self._cut(f"{n_bytes:,} bytes of the header")
        rest = self._data[self._at :]
        start = max(self._start + len(self._data), self.offset)
        step = max(n_bytes - len(rest), min(max(start, FIRST_BYTES), MOST_BYTES))
        stop = min(start + step, self.source.size)
        self.fetched += stop - start
        if self.fetched > MAX_FETCHED:
            raise self.error(start, f"expected a header of at most {MAX_FETCHED // 2**20} MiB, this one goes on")
        fresh = self.source.read(start, stop)
        self._start, self._at, self._data = self.offset, 0, rest + fresh
        if len(self._data) < n_bytes:
            raise self._cut(f"{n_bytes:,} bytes of the header")

    def _cut(self, what: str) -> RequestError:
        left = max(0, self.source.size - self.offset)
        return self.error(
            self.offset, f"expected {what}, the file ends after {left:,} more", hint="cut short or damaged: fetch the file again"
        )


def _pass_strings(data: bytes, at: int, n: int) -> tuple[int, int, int]:
    """Past those of ``n`` strings that begin within ``data``: how many are left, where the last one ends, and its length.

    This is the loop that a large vocabulary's time goes to.
    """
    unpack, last_at = _U64.unpack_from, len(data) - 8
    for n_left in range(n - 1, -1, -1):
        (length,) = unpack(data, at)
        at += 8 + length
        if at > last_at:
            return n_left, at, length
    return 0, at, length
