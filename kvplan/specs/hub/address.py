"""What people write for a model on the Hub: an id, or the web address of the model or of one of its files."""

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from kvplan.core.errors import RequestError

_NAME = r"[A-Za-z0-9_][\w.-]{0,95}"
_ID = re.compile(rf"({_NAME}/{_NAME})(?:@([^:]+))?(?::(.+))?", re.ASCII)
_PLAIN_ID = re.compile(rf"(?:{_NAME}/)?{_NAME}", re.ASCII)
_PAGE = re.compile(rf"({_NAME}(?:/{_NAME})?)(?:/(tree|blob|resolve|raw)/(refs/[^/]+/[^/]+|[^/]+)(?:/(.+))?)?", re.ASCII)
_OTHER_KINDS = ("datasets/", "spaces/", "buckets/", "kernels/", "collections/", "papers/", "docs/")
_TAG = re.compile(r"[A-Za-z0-9_-]{1,40}", re.ASCII)  # Q4_K_M, UD-IQ2_XXS
_HINT = "write it as org/name, org/name@revision or org/name:file.gguf"


class Address(NamedTuple):
    """A repository, the branch, tag or commit where one is named, and the file in it that is the model, or its quantization."""

    repo_id: str
    revision: str | None = None
    filename: str | None = None

    def __str__(self) -> str:
        """As people write it."""
        revision = f"@{self.revision}" if self.revision else ""
        return f"{self.repo_id}{revision}{f':{self.filename}' if self.filename else ''}"


def is_web(ref: str) -> bool:
    """Whether ``ref`` is an address of the web."""
    return ref.lower().startswith(("http://", "https://"))


def parse(ref: str) -> Address | None:
    """The address that ``ref`` is, None where it is none.

    Raises RequestError for a web address that names no model of the Hub, for a file that can't be read as a model, and for
    what no branch, tag or commit can be called.
    """
    if is_web(ref):
        return _named(*_of_page(ref))
    if ref.lower().startswith(("huggingface.co/", "hf.co/")):  # an address as browsers show it
        return _named(*_of_page(f"https://{ref}"))
    found = _ID.fullmatch(ref)
    if found is None or not is_id(found[1]):
        return None
    return _named(found[1], found[2], found[3])


def _named(repo_id: str, revision: str | None, filename: str | None) -> Address:
    if filename == "config.json":
        filename = None
    if filename is not None and _TAG.fullmatch(filename):
        return Address(repo_id, revision, filename)
    if filename is not None and (not filename.lower().endswith(".gguf") or ".." in filename.split("/")):
        shown = Address(repo_id, revision, filename)
        raise RequestError("bad_address", f"{shown}: expected a .gguf file after the id", hint=f"the whole model is {repo_id}")
    if revision is not None and any(not part or part.startswith(".") for part in revision.split("/")):
        message = f"{repo_id}: expected a branch, tag or commit, found '{revision}'"
        raise RequestError("bad_address", message, hint=f"{repo_id} alone is its main branch")
    return Address(repo_id, revision, filename)


def _of_page(ref: str) -> tuple[str, str | None, str | None]:
    """Id, revision and file of a web address."""
    path = _on_hub(ref)
    if path.startswith(_OTHER_KINDS):
        raise RequestError("bad_address", f"{ref}: expected a model, found {path.partition('/')[0]}", hint=_HINT)
    found = _PAGE.fullmatch(path)
    if found is None or not is_id(found[1]) or (found[2] == "tree" and found[4]):
        raise RequestError("bad_address", f"{ref}: no address of a model or of a file in it", hint=_HINT)
    return found[1], unquote(found[3]) if found[3] else None, unquote(found[4]) if found[4] else None


def _on_hub(ref: str) -> str:
    """The path of a web address below the Hub's own. Raises RequestError where it is not the Hub's."""
    from kvplan.specs.hub.client import settings

    constants = settings()
    endpoint, home = urlsplit(constants.ENDPOINT), urlsplit(constants.HUGGINGFACE_CO_URL_HOME)
    try:
        asked = urlsplit(ref)
        if asked.netloc.lower() == endpoint.netloc.lower() and f"{asked.path}/".startswith(f"{endpoint.path}/"):
            return asked.path.removeprefix(endpoint.path).strip("/")
        known = {host.lower() for host in (home.netloc, *getattr(constants, "HF_URL_HOSTS", ())) if host}
        if asked.hostname in known and not asked.port:
            return asked.path.strip("/")
    except ValueError:  # brackets or a port that are none
        raise RequestError("bad_address", f"{ref}: not a web address", hint=_HINT) from None
    hosts = " or ".join(dict.fromkeys((endpoint.netloc, home.netloc)))
    raise RequestError("bad_address", f"{ref}: expected an address at {hosts}", hint=f"download what is elsewhere; of the Hub, {_HINT}")


def is_id(name: str) -> bool:
    """Whether a model can be called so: the rules of huggingface_hub 2.4 utils/_validators.py."""
    plain = _PLAIN_ID.fullmatch(name) is not None and len(name) <= 96
    return plain and "--" not in name and ".." not in name and not name.endswith((".git", ".", "-"))
