"""What requests have in common: a tree of runs of blocks, in which each request is a path from the root."""

from collections.abc import Iterator


class Run:
    """Blocks that always follow each other, and the runs that came after.

    ``use`` is the last request that went through, ``next`` the last one that went on to a run below; ``session`` is whose blocks they
    are, ``shared`` whether another one used them too.
    """

    __slots__ = ("children", "content", "next", "session", "shared", "use")

    def __init__(self, content: bytes, use: int, session: int) -> None:
        """A run without any below."""
        self.content, self.use, self.session = content, use, session
        self.children: dict[bytes, Run] | None = None
        self.shared = False
        self.next = -1

    def child(self, first: bytes) -> "Run | None":
        """The run below that begins with this block."""
        return self.children.get(first) if self.children else None

    def put(self, first: bytes, run: "Run") -> None:
        """Let ``run``, which begins with this block, follow."""
        if self.children is None:
            self.children = {}
        self.children[first] = run

    def split(self, at: int, width: int) -> None:
        """Keep the first ``at`` bytes, and leave the rest to a run below that is all that this one was."""
        rest = Run(self.content[at:], self.use, self.session)
        rest.children, rest.shared, rest.next = self.children, self.shared, self.next
        self.content, self.children, self.next = self.content[:at], {self.content[at : at + width]: rest}, self.use

    def below(self) -> "Iterator[Run]":
        """This run and all that follow."""
        left = [self]
        while left:
            run = left.pop()
            yield run
            left.extend(run.children.values() if run.children else ())


def common(run: bytes, path: bytes, at: int, width: int) -> int:
    """How many bytes of ``run`` the path has from ``at`` on, in whole blocks of ``width`` bytes."""
    n = min(len(run), len(path) - at)
    ours, theirs = run[:n], path[at : at + n]
    if ours == theirs:
        return n
    differ = int.from_bytes(ours, "big") ^ int.from_bytes(theirs, "big")
    alike = n - (differ.bit_length() + 7) // 8
    return alike - alike % width
