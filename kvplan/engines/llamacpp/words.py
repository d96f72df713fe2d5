"""A program's own words, read as llama.cpp's argument parser reads them.

Source: llama.cpp b11434 common/arg.cpp, common_params_parse_ex: no abbreviations, no --a=b, no words without a flag, and a flag takes
the next word whatever it looks like.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kvplan.core.engine import Flag
from kvplan.core.errors import did_you_mean
from kvplan.core.ledger import Finding, Refusal
from kvplan.engines.llamacpp.flags import CACHE_TYPES, INSTEAD, LOAD_MODES, REMOVED, UNMODELED, Known
from kvplan.engines.llamacpp.known import Other, others, spellings, variables
from kvplan.engines.llamacpp.rules import rules_for
from kvplan.engines.llamacpp.settings import App
from kvplan.engines.llamacpp.values import ValueProblem, canonical, is_cut

_OLD_LOAD_FLAGS = ("mmap", "mlock", "direct-io")
_HINTS = {"fa": "say -fa on, off or auto", "cache": f"it keeps {', '.join(CACHE_TYPES)}", "mode": f"say {', '.join(LOAD_MODES)}"}
_SINCE = {"fit": 7406, "fit-target": 7406, "fit-ctx": 7406, "cache-ram": 6715, "load-mode": 10200}


class Read(NamedTuple):
    """What the words say; ``refusals`` holds the first thing that the parser stops at, though the words behind it are read as well."""

    flags: tuple[Flag, ...]
    ignored: tuple[Flag, ...]
    unknown: tuple[Flag, ...]
    findings: tuple[Finding, ...]
    refusals: tuple[Refusal, ...]


def read(words: Sequence[str], env: Mapping[str, str], app: App, version: str) -> Read:
    """Variables first, then flags in order, so that later ones win. Raises RequestError for a build that is not modeled."""
    reader = _Reader(app, version)
    for name, value in env.items():
        reader.variable(name, value)
    rest = list(words)
    while rest:
        reader.take(rest)
    return Read(tuple(reader.flags), tuple(reader.ignored), tuple(reader.unknown), tuple(reader.findings), tuple(reader.refusals[:1]))


class _Reader:
    def __init__(self, app: App, version: str) -> None:
        self._app, self._version, self._rules = app, version, rules_for(version)[0]
        self.flags: list[Flag] = []
        self.ignored: list[Flag] = []
        self.unknown: list[Flag] = []
        self.findings: list[Finding] = []
        self.refusals: list[Refusal] = []

    def variable(self, name: str, value: str) -> None:
        """One variable; those of flags that are gone are looked at no more."""
        if name not in variables():
            if name.startswith("LLAMA_ARG_"):
                self.ignored.append(Flag(name, value))
            return
        flag, positive = variables()[name]
        if self._app not in flag.apps or (flag.name in _OLD_LOAD_FLAGS and self._rules.load_mode == "mode"):
            return
        where = f'error while handling environment variable "{name}"'
        if flag.n_values == 0 and not positive:
            self._say(flag, "false")
        elif flag.kind != "on" or value in ("on", "enabled", "true", "1"):
            self._say_checked(flag, value, where)

    def take(self, rest: list[str]) -> None:
        """Consume one flag with its values, or one word."""
        word = rest.pop(0)
        said = word.replace("_", "-") if word.startswith("--") else word
        found = spellings().get(said)
        if found is not None:
            self._flag(found[0], said, rest, positive=found[1])
        elif said in others():
            self._other(others()[said], said, rest)
        else:
            self._strange(word, said, rest)

    def _flag(self, flag: Known, said: str, rest: list[str], *, positive: bool) -> None:
        if self._app not in flag.apps:
            self._foreign(said, _only(flag.apps), rest, flag.n_values)
            return
        if _SINCE.get(flag.name, 0) > self._rules.since:
            self._refuse(f"error: invalid argument: {said}", said, f"llama.cpp takes it from about b{_SINCE[flag.name]} on")
        elif flag.name in _OLD_LOAD_FLAGS and self._rules.load_mode == "mode":
            self._refuse(f"error: invalid argument: {said}", said, f"say {INSTEAD[flag.name]}")
        if flag.n_values == 0:
            self._say(flag, "true" if positive else "false")
            return
        where = f'error while handling argument "{said}"'
        if not rest:
            self._refuse(f"{where}: expected value for argument", said, "")
        elif flag.name in REMOVED and not self._rules.old_draft_flags:
            self._refuse(f"{where}: the argument has been removed. {REMOVED[flag.name]}", said, REMOVED[flag.name])
            self._say_checked(flag, rest.pop(0), where)
        elif self._say_checked(flag, rest[0], where) or rest[0] not in spellings():
            rest.pop(0)
        elif flag.kind == "fa":  # as it was written when it took no value
            self._say(flag, "on")

    def _say(self, flag: Known, value: str) -> None:
        self.flags.append(Flag(flag.name, value))

    def _say_checked(self, flag: Known, text: str, where: str) -> bool:
        """Whether llama.cpp takes the value; what it doesn't is refused and left out."""
        try:
            value = canonical(flag, text)
        except ValueProblem as problem:
            self._refuse(f"{where}: {problem}", f"--{flag.name} {text}", _HINTS.get(flag.kind, ""))
            return False
        if flag.kind in ("int", "layers") and text not in ("auto", "all") and is_cut(text):
            message = f"llama.cpp reads '{text}' of --{flag.name} as {value}"
            self.findings.append(Finding("KV220", "warning", message, "write the number in full"))
        self._say(flag, value)
        return True

    def _other(self, flag: Other, said: str, rest: list[str]) -> None:
        if self._app not in flag.apps:
            self._foreign(said, _only(flag.apps), rest, flag.n_values)
            return
        values = [rest.pop(0) for _ in range(min(flag.n_values, len(rest)))]
        if flag.name in REMOVED and not self._rules.old_draft_flags:
            text = f'error while handling argument "{said}": the argument has been removed. {REMOVED[flag.name]}'
            self._refuse(text, said, REMOVED[flag.name])
        elif flag.name in UNMODELED:
            text = f"--{flag.name} bears on memory and is not followed: {UNMODELED[flag.name]}"
            self.findings.append(Finding("KV211", "warning", text))
        else:
            self.ignored.append(Flag(said, " ".join(values)))

    def _strange(self, word: str, said: str, rest: list[str]) -> None:
        """No flag at all, or one with its value behind an equals sign, which is followed all the same."""
        name, equals, value = said.partition("=")
        if equals and name in spellings():
            self._refuse(f"error: invalid argument: {said}", said, f"write {name} {value}")
            flag, positive = spellings()[name]
            self._flag(flag, name, [value] if flag.n_values else [], positive=positive)
            return
        self._foreign(said, did_you_mean(said, [*spellings(), *others()]), rest, 1 if word.startswith("-") else 0)

    def _foreign(self, said: str, hint: str, rest: list[str], n_values: int) -> None:
        """A word that this program doesn't take, with the values that seem to be its."""
        values: list[str] = []
        while rest and len(values) < n_values and not rest[0].startswith("-"):
            values.append(rest.pop(0))
        self.unknown.append(Flag(said, " ".join(values)))
        self._refuse(f"error: invalid argument: {said}", said, hint)

    def _refuse(self, text: str, said: str, hint: str) -> None:
        self.refusals.append(stopped(text))
        message = f"llama.cpp {self._version} does not take '{said}': it would not start"
        self.findings.append(Finding("KV210", "warning", message, hint))


def _only(apps: tuple[str, ...]) -> str:
    return f"known to {' and '.join(f'llama-{app}' for app in apps)} alone"


def stopped(text: str) -> Refusal:
    """What the argument parser says when it gives up."""
    return Refusal("KV140", "parse", text)
