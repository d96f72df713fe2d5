"""What a repository is, by the files in it: a model with a config, one GGUF file, several, or nothing that can be read."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack

from kvplan.core.errors import RequestError, UnavailableError, near_matches
from kvplan.core.model import ModelSpec
from kvplan.core.units import format_size
from kvplan.specs.beside import Beside, merged, spec_of
from kvplan.specs.hub.address import Address
from kvplan.specs.hub.headers import opened
from kvplan.specs.hub.repos import Repo
from kvplan.specs.sources import LocalFile, Source
from kvplan.specs.weight_files import choose, with_weights

CONFIG = "config.json"
_ADAPTER, _MISTRAL = "adapter_config.json", "params.json"
_OTHER_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".msgpack", ".h5", ".npz")
_MOST_LISTED = 8


def spec_in(repo: Repo, address: Address) -> ModelSpec:
    """The model in ``repo``, or in its file that ``address`` names. Raises KvplanError where there is none or no access."""
    ggufs = [name for name in repo.files if name.lower().endswith(".gguf")]
    if address.filename:
        if address.filename in repo.files:
            return _from_gguf(repo, address.filename)
        from kvplan.specs.gguf import choice

        tagged = choice.tagged(repo.files, address.filename) if "." not in address.filename else None
        if tagged is None:
            raise _no_file(repo, address, ggufs)
        return _from_gguf(repo, tagged)
    only_ggufs = repo.is_whole and not any(name.endswith(_OTHER_WEIGHTS) for name in repo.files)
    if ggufs and (CONFIG not in repo.files or only_ggufs):
        from kvplan.specs.gguf import choice

        return _from_gguf(repo, choice.choose(repo.files, repo.repo_id, prefix=f"{address}:"))
    if CONFIG not in repo.files:
        raise _nothing(repo)
    return _from_config(repo)


def config_in(repo: Repo) -> dict[str, object]:
    """What the repository's configs say, in one. Raises KvplanError where there is none or no access."""
    if CONFIG not in repo.files:
        raise _nothing(repo)
    return merged(repo.json(CONFIG), _beside(repo))


def _beside(repo: Repo) -> Beside:
    return lambda name: (repo.json(name), f"{repo.repo_id}/{name}") if name in repo.files else None


def _from_config(repo: Repo) -> ModelSpec:
    try:
        return _weighed(spec_of(repo.json(CONFIG), f"{repo.repo_id}/{CONFIG}", _beside(repo)), repo)
    except UnavailableError as problem:
        if not problem.kind.startswith("gated"):
            raise
        raise UnavailableError(problem.kind, problem.message, hint=problem.hint, details=_known_sizes(repo)) from None


def _weighed(spec: ModelSpec, repo: Repo) -> ModelSpec:
    """``spec`` with its checkpoint; as it is where there is none, or where not all of it lies in the cache that must do."""
    try:
        chosen = choose(repo.files, repo.json)
    except RequestError as problem:
        if problem.kind == "missing_weights" and not repo.is_whole:
            return spec
        raise
    if chosen is None:
        return spec
    with ExitStack() as stack:
        sources = opened(repo, list(chosen.sizes)) if chosen.format == "safetensors" else {}
        return with_weights(spec, chosen, _opener(sources, repo, stack))


def _from_gguf(repo: Repo, first: str) -> ModelSpec:
    from kvplan.specs.gguf.load import load
    from kvplan.specs.gguf.splits import parts

    names = [name for name in parts(first) if name in repo.files]
    with ExitStack() as stack:
        sources = opened(repo, names)
        return load(first, _opener(sources, repo, stack))


def _opener(sources: Mapping[str, Source], repo: Repo, stack: ExitStack) -> Callable[[str], Source]:
    """Opens what the repository holds; local files stay open as long as ``stack``."""
    for source in sources.values():
        if isinstance(source, LocalFile):
            stack.enter_context(source)

    def open_source(name: str) -> Source:
        if name not in sources:
            raise RequestError("file_not_found", f"{repo.repo_id}/{name}: not in the repository", hint="tell the model's author")
        return sources[name]

    return open_source


def _no_file(repo: Repo, address: Address, ggufs: list[str]) -> RequestError:
    close = near_matches(str(address.filename), ggufs) or ggufs[:3]
    guess = f"it holds {', '.join(close)}" if close else "it holds no GGUF file"
    return RequestError("file_not_found", f"{repo.repo_id}/{address.filename}: no such file in the repository", hint=guess)


def _nothing(repo: Repo) -> RequestError:
    """The error for a repository without config.json and GGUF files: says what it is instead."""
    if _ADAPTER in repo.files:
        named = repo.json(_ADAPTER).get("base_model_name_or_path")
        base = named if isinstance(named, str) else None
        message = f"{repo.repo_id}: an adapter (LoRA), not a model" + (f"; its base model is {base}" if base else "")
        return RequestError("adapter", message, hint=f"name the base model{f': {base}' if base else ''}")
    held = [f"{format_size(size):>11}  {name}" for name, size in list(repo.files.items())[:_MOST_LISTED]]
    more = [f"… and {len(repo.files) - len(held)} more"] if len(repo.files) > len(held) else []
    if _MISTRAL in repo.files:
        message = f"{repo.repo_id}: holds Mistral's own params.json, but no config.json: only that is read"
        return RequestError("no_config", message, hint="name a repository of the same model with a config.json", details=(*held, *more))
    message = f"{repo.repo_id}: expected a config.json or a .gguf file, found {'neither' if held else 'an empty repository'}"
    return RequestError(
        "no_config", message, hint="name a repository that holds a model for Transformers or a GGUF", details=(*held, *more)
    )


def _known_sizes(repo: Repo) -> tuple[str, ...]:
    """What the listing says of a model whose files are kept back."""
    sizes = [size for name, size in repo.files.items() if name.endswith(".safetensors") and "/" not in name]
    files = f"{len(sizes)} .safetensors file{'s' if len(sizes) > 1 else ''}"
    return (f"known without access: {files} of {format_size(sum(sizes))}{' in all' if len(sizes) > 1 else ''}",) if sum(sizes) else ()
