"""From an id or address of the Hub to a ModelSpec."""

from kvplan.core.errors import KvplanError, RequestError, UnavailableError
from kvplan.core.model import Caveat, ModelSpec
from kvplan.specs import builtin
from kvplan.specs.hub import cache
from kvplan.specs.hub.address import Address
from kvplan.specs.hub.contents import CONFIG, config_in, spec_in
from kvplan.specs.hub.repos import CachedRepo, HubRepo, Repo
from kvplan.specs.hub.transport import Transport

UNREACHABLE = ("no_connection", "stalled", "cut_off", "hub_error", "rate_limited", "bad_answer")
_NO_ACCESS = ("gated_no_token", "gated_no_access", "bad_token", "repo_disabled", "repo_not_found", "hub_refused", "offline")


def load(address: Address) -> ModelSpec:
    """The model at ``address``: its configs, and its weights from the headers of its files.

    Raises RequestError (no such repository, revision or file; nothing in it that can be read) and UnavailableError (no
    network, no access), whose hint names the built-in model with the same facts where there is one.
    """
    try:
        return _load(address)
    except KvplanError as problem:
        if problem.kind not in (*UNREACHABLE, *_NO_ACCESS):
            raise
        raise _pointing_at(problem, address) from None


def config(address: Address, commit: str) -> dict[str, object]:
    """What the configs at ``commit`` say, in one; a load has put them into the cache, if that can be written.

    Raises like ``load``.
    """
    held = CachedRepo(address.repo_id, commit)
    return config_in(held if CONFIG in held.files else HubRepo(Transport(), address._replace(revision=commit)))


def _load(address: Address) -> ModelSpec:
    transport = Transport()
    if transport.offline:
        return _from_cache(address, UnavailableError("offline", f"{address}: HF_HUB_OFFLINE is set", hint="unset it"))
    try:
        repo = HubRepo(transport, address)
    except UnavailableError as problem:
        if problem.kind not in UNREACHABLE:
            raise
        return _from_cache(address, problem)
    spec = _spec(repo, address)
    if repo.repo_id == address.repo_id:
        return spec
    message = f"{address.repo_id} is {repo.repo_id} now"
    return spec._replace(caveats=(*spec.caveats, Caveat("KV016", "note", message, f"name it {repo.repo_id}")))


def _from_cache(address: Address, problem: UnavailableError) -> ModelSpec:
    """The model as the cache holds it. Raises ``problem`` where it does not."""
    commit = cache.commit_of(address.repo_id, address.revision or "main")
    repo = CachedRepo(address.repo_id, commit) if commit else None
    if repo is None or not _is_held(repo, address):
        message = f"{problem.message}, and the cache does not hold {address.filename or CONFIG}"
        raise UnavailableError(problem.kind, message, hint=problem.hint, details=problem.details)
    spec = _spec(repo, address)
    weights = "" if spec.checkpoint else "; its weights are not there and counted by arithmetic"
    caveat = Caveat("KV017", "note", f"{problem.message}: read from the cache, as of commit {commit}{weights}")
    return spec._replace(caveats=(*spec.caveats, caveat))


def _is_held(repo: CachedRepo, address: Address) -> bool:
    if address.filename and "." in address.filename:  # a file, not a quantization
        return address.filename in repo.files
    return CONFIG in repo.files or any(name.endswith(".gguf") for name in repo.files)


def _spec(repo: Repo, address: Address) -> ModelSpec:
    spec = spec_in(repo, address)
    return spec._replace(id=str(address._replace(repo_id=repo.repo_id)), source="hub", revision=repo.commit)


def _quantized(repo_id: str) -> str | None:
    """``qwen3-8b:awq`` for ``Qwen/Qwen3-8B-AWQ``: a built-in model, and a scheme that its name ends in."""
    from kvplan.specs import paper

    words = repo_id.split("-")
    for i in range(1, len(words)):
        stem, scheme = "-".join(words[:i]), paper.find("-".join(words[i:]))
        known = builtin.find(stem) or builtin.find(stem.rpartition("/")[2])
        if known and scheme:
            return f"{known}:{scheme.name}"
    return None


def _pointing_at(problem: KvplanError, address: Address) -> KvplanError:
    """``problem``, with a way out through the built-in models: one with the same facts, or with a name like this."""
    known = None if address.filename else builtin.find(address.repo_id)
    likely = None if address.filename or known else _quantized(address.repo_id)
    if known or likely:
        same = f"'{known}' has the same facts" if known else f"'{likely}' is such a checkpoint on paper"
        hint = f"the built-in {same} and needs no access; or {problem.hint}"
        return type(problem)(problem.kind, problem.message, hint=hint, details=problem.details)
    if problem.kind != "repo_not_found":
        return problem
    close = builtin.near(address.repo_id)
    guess = f"built in: {', '.join(close)}; " if close else ""
    return RequestError(problem.kind, problem.message, hint=guess + problem.hint, details=("not a file or directory here either",))
