"""A repository's files, as the Hub lists them or as the client's cache holds them."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import quote

from kvplan.core.errors import KvplanError, RequestError, UnavailableError
from kvplan.specs.files import MAX_BYTES, parse_json, text_of
from kvplan.specs.hub import cache, failures
from kvplan.specs.hub.address import Address, is_id
from kvplan.specs.hub.remote import RemoteFile
from kvplan.specs.hub.transport import Transport, Wanted
from kvplan.specs.sources import LocalFile, Source

MAX_LISTING_BYTES = 64 * 2**20  # 10,000 files take 3 MiB
_LONGEST_NAME = 255  # bytes of a file's or folder's name on disk
MAX_INDEX_BYTES = 256 * 2**20  # the largest index, of 150,000 tensors, has 20 MiB


class Repo(Protocol):
    """What loading needs of a repository: ``files`` are names and bytes (0: not said) at one commit."""

    @property
    def repo_id(self) -> str:
        """The id, as the Hub gives it."""
        ...

    @property
    def commit(self) -> str | None:
        """What the files are read at, where it is known."""
        ...

    @property
    def files(self) -> Mapping[str, int]:
        """Names and bytes."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether ``files`` are all that there are."""
        ...

    def json(self, name: str) -> dict[str, object]:
        """The JSON object in a file. Raises KvplanError."""
        ...

    def open(self, name: str) -> Source:
        """A file to read ranges of."""
        ...


class HubRepo:
    """A repository at the Hub: small files go through the cache, of large ones only what lies there already."""

    is_whole = True

    def __init__(self, transport: Transport, address: Address) -> None:
        """Ask for the listing. Raises KvplanError for what is not there or not to be had."""
        self.revision = address.revision or "main"
        asked = transport.asked(str(address), address.repo_id, self.revision)
        at = f"/revision/{quote(address.revision, safe='')}" if address.revision else ""
        url = f"{transport.endpoint}/api/models/{address.repo_id}{at}?blobs=true"
        listing = _object(transport.get(Wanted(url, asked, most=MAX_LISTING_BYTES)).body, asked)
        self.repo_id, self.commit, self.files = _facts(listing, asked)
        self.transport = transport

    def json(self, name: str) -> dict[str, object]:
        """See ``Repo.json``."""
        where, most = f"{self.repo_id}/{name}", MAX_INDEX_BYTES if name.endswith(".index.json") else MAX_BYTES
        if self.files.get(name, 0) > most:
            raise RequestError("bad_file", f"{where}: larger than {most // 2**20} MiB: not a config", hint="point at a config.json")
        held = cache.read(self.repo_id, self.commit, name) if self.commit else None
        if held is not None and self.files.get(name) in (0, len(held)):
            return _parsed(held, where)
        asked = self.transport.asked(where, self.repo_id, self.revision)
        body = self.transport.get(Wanted(self._url(name), asked, most=most)).body
        if body.lstrip()[:1] == b"<":
            raise failures.bad_answer(asked, "a web page")
        value = _parsed(body, where)
        if self.commit and self.files.get(name) in (0, len(body)):
            cache.keep(self.repo_id, self.commit, name, body, revision=self.revision)
        return value

    def open(self, name: str) -> Source:
        """See ``Repo.open``."""
        held = cache.path_of(self.repo_id, self.commit, name) if self.commit else None
        if held and held.stat().st_size == self.files.get(name):
            return LocalFile(held)
        return RemoteFile(
            self.transport, self._url(name), name=f"{self.repo_id}/{name}", repo_id=self.repo_id, size=self.files.get(name, 0)
        )

    def _url(self, name: str) -> str:
        return f"{self.transport.endpoint}/{self.repo_id}/resolve/{quote(self.commit or self.revision, safe='')}/{quote(name)}"


class CachedRepo:
    """What lies in the cache of a repository, for when the Hub can't be asked."""

    is_whole = False

    def __init__(self, repo_id: str, commit: str) -> None:
        """``commit`` is one that the cache holds files of."""
        self.repo_id, self.commit, self.files = repo_id, commit, cache.files(repo_id, commit)

    def json(self, name: str) -> dict[str, object]:
        """See ``Repo.json``."""
        held = cache.read(self.repo_id, self.commit, name)
        if held is None:
            raise self._missing(name)
        return _parsed(held, f"{self.repo_id}/{name}")

    def open(self, name: str) -> Source:
        """See ``Repo.open``."""
        path = cache.path_of(self.repo_id, self.commit, name)
        if path is None:
            raise self._missing(name)
        return LocalFile(path)

    def _missing(self, name: str) -> UnavailableError:
        return UnavailableError("not_cached", f"{self.repo_id}/{name}: not whole in the cache", hint="load the model once with a network")


def _object(body: bytes, asked: failures.Asked) -> Mapping[str, object]:
    """The listing's JSON object. Raises UnavailableError: whatever else answers is no Hub."""
    try:
        return parse_json(body.decode(), asked.what)
    except (KvplanError, UnicodeDecodeError):
        found = "a web page" if body.lstrip()[:1] == b"<" else "something else than JSON"
        raise failures.bad_answer(asked, found) from None


def _facts(listing: Mapping[str, object], asked: failures.Asked) -> tuple[str, str | None, dict[str, int]]:
    """Id, commit, and the files with their sizes."""
    repo_id, commit, siblings = listing.get("id"), listing.get("sha"), listing.get("siblings")
    if not isinstance(repo_id, str) or not is_id(repo_id) or not isinstance(siblings, list):
        raise failures.bad_answer(asked, "a listing without id or files")
    named = [item for item in siblings if isinstance(item, dict) and _can_be_named(item.get("rfilename"))]
    files = {item["rfilename"]: size if type(size := item.get("size")) is int and size > 0 else 0 for item in named}
    return repo_id, commit if isinstance(commit, str) and cache.is_commit(commit) else None, files


def _can_be_named(name: object) -> bool:
    """Whether a file can have that name in the cache and in an address; others are passed over."""
    return isinstance(name, str) and name.isprintable() and all(0 < len(part.encode()) <= _LONGEST_NAME for part in name.split("/"))


def _parsed(body: bytes, where: str) -> dict[str, object]:
    """Like ``parse_json``, with the way out that there is for a file of somebody else's."""
    hint = "tell the model's author, or point at a config.json of your own"
    try:
        text = text_of(body, where) if len(body) <= MAX_BYTES else body.decode()
        return parse_json(text, where)
    except UnicodeDecodeError:
        raise RequestError("bad_file", f"{where}: expected UTF-8 text", hint=hint) from None
    except RequestError as problem:
        raise RequestError(problem.kind, problem.message, hint=hint, details=problem.details) from None
