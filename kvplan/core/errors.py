"""What kvplan raises on purpose. ``main`` alone turns these into a message and an exit code."""

from collections.abc import Callable, Iterable

EXIT_OK = 0
EXIT_NO = 1
EXIT_REQUEST = 2
EXIT_UNAVAILABLE = 3
EXIT_INTERRUPTED = 130


class KvplanError(Exception):
    """A refusal with a reason: ``kind`` for programs, ``message`` and ``hint`` for people."""

    exit_code = EXIT_REQUEST

    def __init__(self, kind: str, message: str, *, hint: str = "", details: Iterable[str] = ()) -> None:
        """``details`` are lines shown below the message: what was looked at, what was found."""
        super().__init__(message)
        self.kind = kind
        self.message = _sayable(message)
        self.hint = _sayable(hint)
        self.details = tuple(_sayable(line) for line in details)

    def __reduce__(self) -> "tuple[Callable[..., KvplanError], tuple[object, ...]]":
        """Whole through a pipe between processes."""
        return _rebuilt, (type(self), self.kind, self.message, self.hint, self.details)


def _rebuilt(kind_of: type[KvplanError], kind: str, message: str, hint: str, details: tuple[str, ...]) -> KvplanError:
    return kind_of(kind, message, hint=hint, details=details)


class RequestError(KvplanError):
    """The request is wrong: usage, unknown model or GPU, a bad file."""


class NoFitError(KvplanError):
    """The request is right, and the answer is no: nothing fits, and there is no nearest miss to show."""

    exit_code = EXIT_NO


class UnavailableError(KvplanError):
    """The request is right and can't be answered here: network, no GPU, torch missing."""

    exit_code = EXIT_UNAVAILABLE


def _sayable(text: str) -> str:
    """``text`` on one line of bearable length: it quotes what users and files say, escape sequences included."""
    if len(text) > _MOST_CHARS:
        text = f"{text[: _MOST_CHARS // 2]}…{text[-_MOST_CHARS // 2 :]}"
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


_MOST_CHARS = 1000  # a dozen lines of a terminal


def near_matches(word: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """Known names that look like ``word``, best first: those it is part of, then those it resembles."""
    import difflib  # only errors need it

    names = sorted(set(known))
    folded = {name.lower(): name for name in names}
    wanted = word.lower()
    close = [folded[m] for m in difflib.get_close_matches(wanted, folded, n=most, cutoff=0.6)]
    inside = [name for low, name in folded.items() if len(wanted) > 2 and (wanted in low or low in wanted)]
    return list(dict.fromkeys([*close, *sorted(inside, key=len)]))[:most]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names near matches, or nothing."""
    matches = near_matches(word, known)
    return f"did you mean {' or '.join(repr(m) for m in matches)}?" if matches else ""
