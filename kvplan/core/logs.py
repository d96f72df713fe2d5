"""What engines print, as data: one Shape for each line that tells something about memory."""

from typing import Literal, NamedTuple

Mark = Literal["", "start", "ready", "pool", "refused", "oom", "warned", "frame"]
"""What a line says of the run: a process begins; it serves; its cache is allocated; it says no; memory ran out; it goes on, but;
where in the code it was."""


class Shape(NamedTuple):
    """A line as the engine's own format string has it.

    ``text`` holds ``{label|unit}`` where a number is printed, with ``size`` as unit where the unit follows the number, ``{=name|word}``
    where a setting is, ``{*}`` for whatever, and
    ``{$}`` at the end of a line. ``sign`` names the situation that the line shows. ``source`` is the file, at a version
    in which it stands so.
    """

    text: str
    source: str
    mark: Mark = ""
    sign: str = ""
