"""From a request to the case that the search works on."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvplan.core.errors import RequestError, did_you_mean
from kvplan.core.units import parse_count
from kvplan.estimator import Estimate, Options, answer, engines, machine, on_paper
from kvplan.estimator.loading import loaded
from kvplan.recommender import rewriting
from kvplan.recommender.case import Case, Dialect
from kvplan.recommender.dialects import dialect
from kvplan.recommender.engine_choice import choice
from kvplan.recommender.plan import KNOBS, Plan
from kvplan.recommender.request import Request

DEFAULT_CTX, LEAST_CTX = 4096, 2048
_OF_OPTIONS = {"dtype": "weights", "kv_dtype": "cache", "tp": "tp", "pp": "pp"}


class Asked(NamedTuple):
    """The cases to try in this order, and why the first engine is the first."""

    cases: tuple[Case, ...]
    why_engine: str


def cases(request: Request) -> Asked:
    """One case an engine that comes into question. Raises RequestError for a request that makes no sense."""
    options = _on_hardware(request.options)
    if options.command or options.engine is not None:
        return Asked((_case(request, options),), "it was asked for")
    ref, _ = on_paper.parted(options.model or "")
    found = choice(loaded(ref), machine.node(options, probe=False))
    return Asked(tuple(_of_engines(request, options, found.engines)), found.why)


def _of_engines(request: Request, options: Options, engines_named: Sequence[str]) -> Iterator[Case]:
    """A case each; what the first one accepts, a later one may not know (flags to keep)."""
    for n, name in enumerate(engines_named):
        if not _may(options, name):
            continue
        try:
            yield _case(request, options._replace(engine=name))
        except RequestError:
            if n == 0:
                raise


def _may(options: Options, engine: str) -> bool:
    """Whether the options mean something to an engine that nobody asked for."""
    try:
        engines.asked(options._replace(engine=engine))
    except RequestError:
        return engine == "vllm"  # whose complaint the user gets to read
    return True


def _on_hardware(options: Options) -> Options:
    """The options with the hardware said. Raises RequestError where there is none to fit into."""
    if options.gpu is None and options.budget is None:
        from kvplan.hardware import presence

        if not presence.driver():
            raise RequestError(
                "usage", "no GPU was named, and none is attached", hint="say --gpu l4, or --gpu any for the smallest that do"
            )
        return options._replace(gpu="local")
    if options.gpu is not None and options.gpu.lower() == "none" and options.ram is None:
        raise RequestError("usage", "--gpu none: of what size is the host's memory?", hint="add --ram 64GiB")
    return options


class _Named(NamedTuple):
    """The model: ``ref``, in the scheme ``form`` on paper, which may stand behind its name (``by_name``); ``beside`` a command
    that names one of its own."""

    ref: str
    form: str | None
    by_name: bool
    beside: bool

    @property
    def word(self) -> str:
        """How commands name it."""
        return f"{self.ref}:{self.form}" if self.form and self.by_name else self.ref


def _named(options: Options, model: str) -> _Named:
    ref, form = on_paper.parted(options.model or model)
    if options.dtype is not None and form is None:
        form = None if options.dtype == "auto" else options.dtype
    beside = _is_pasted(options) and options.model is not None
    by_name = not beside and on_paper.parted(f"{ref}:{form or 'q8_0'}")[1] is not None
    return _Named(ref, form, by_name, beside)


def _is_pasted(options: Options) -> bool:
    """Whether there is a command with words of its own; a program's name alone says nothing."""
    return len(options.command) > 1


def _case(request: Request, options: Options) -> Case:
    engine, version, parsed, _ = engines.asked(options)
    speaks, named = dialect(engine.name), _named(options, parsed.model or "")
    command = speaks.plain(named.word, n_cards=len(machine.node(options, probe=False).gpus))
    if _is_pasted(options):
        command = options.command if named.beside else _renamed(options.command, parsed.model or "", named.word)
    alone = options._replace(
        model=options.model if named.beside else None, engine=f"{engine.name}@{version}", command=command, ctx=None, batch=None,
        prompt=None, dtype=None if named.by_name else options.dtype,
    )  # fmt: skip
    first = answer(alone, elsewhere=False)
    return _sized(_begin(request, options, alone, first, named), _count(options.ctx, "--ctx"), speaks.read(first, named.form))


def _begin(request: Request, options: Options, alone: Options, first: Estimate, named: _Named) -> Case:
    """The case but for its sizes; ``alone`` is what its command says by itself, with kvplan's own options of precision."""
    speaks, plain = dialect(first.engine), alone._replace(kv_dtype=None, tp=None, pp=None)
    return Case(
        ref=named.ref,
        form=named.form,
        model=first.model if named.form is None else loaded(named.ref),
        command=alone.command,
        pasted=_is_pasted(options),
        options=plain,
        dialect=speaks,
        base=speaks.read(answer(plain, elsewhere=False), named.form),
        start=speaks.read(first, named.form),
        first=first,
        goal=request.goal,
        least_ctx=0,
        least_sequences=_count(options.batch, "--concurrency") or 1,
        ctx_said=options.ctx is not None,
        keep=_kept(request, options, speaks),
        stored_bits=8.0 * first.model.weight_bytes / max(1, first.model.n_params),
        by_name=named.by_name,
        whole_nodes=bool(request.prices),
    )


def _count(text: str | None, option: str) -> int | None:
    return None if text is None else parse_count(text, option=option)


def _renamed(command: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if word == old else word for word in command)


def _sized(case: Case, asked: int | None, start: Plan) -> Case:
    """The least context: what was asked for; else of a command as much as makes sense to fall to, or kvplan's usual one."""
    case = case._replace(forms=tuple(case.dialect.forms(case)))
    limit = case.limit or DEFAULT_CTX
    if asked is not None and case.limit is not None and asked > case.limit:
        raise RequestError(
            "beyond_limit",
            f"--ctx {asked}: {case.model.id} was made for {case.limit:,} positions",
            hint=f"lower it to --ctx {case.limit}, or choose a model with a longer context",
        )
    least = asked or max(1, min(LEAST_CTX, start.ctx_tokens if case.pasted else limit))
    if not case.dialect.spellings["ctx_tokens"]:  # no command says how much is asked of it
        start = start._replace(ctx_tokens=asked or start.ctx_tokens, sequences=case.least_sequences)
        case = case._replace(base=case.base._replace(ctx_tokens=start.ctx_tokens, sequences=start.sequences))
    begin = start if case.pasted else _begun(case, start, asked or min(DEFAULT_CTX, limit))
    return case._replace(least_ctx=least, start=begin)


def _begun(case: Case, start: Plan, ctx: int) -> Plan:
    """Where the search begins without a command: what was asked for, with the weights in the best way that the engine has."""
    weights = start.weights if any(form.name == start.weights for form in case.forms) else case.forms[0].name
    begin = start._replace(ctx_tokens=ctx, sequences=case.least_sequences, weights=weights)
    return case.dialect.placed(begin, case.model) if case.first.node.gpus else begin


def _kept(request: Request, options: Options, speaks: Dialect) -> frozenset[str]:
    """Knobs that --keep names by their flags, and those that kvplan's own options set. Raises RequestError for an unknown flag."""
    flags = {word.lstrip("-"): knob for knob, spelled in speaks.spellings.items() for one in spelled for word in (one.flag, *one.others)}
    flags |= {knob: knob for knob in KNOBS} | {"ctx": "ctx_tokens", "concurrency": "sequences", "dtype": "weights", "kv-dtype": "cache"}
    found = {knob for option, knob in _OF_OPTIONS.items() if getattr(options, option) is not None}
    for flag in request.keep:
        knob = flags.get(flag.strip().lstrip("-"))
        if knob is None:
            hint = did_you_mean(flag, flags) or f"known: {', '.join(sorted(flags))}"
            raise RequestError("unknown_flag", f"--keep {flag}: nothing that a search would turn on {speaks.engine}", hint=hint)
        found.add(knob)
    return frozenset(found)


def estimate_of(case: Case, plan: Plan) -> tuple[str, ...]:
    """The command of kvplan that says of this plan what the proposal says."""
    node = case.options
    demand = [("--ctx", str(plan.ctx_tokens)), ("--batch", str(case.promised(plan))), ("--engine", node.engine)]
    hardware = [("--gpu", node.gpu), ("--gpus", node.gpus), ("--budget", node.budget), ("--ram", node.ram), ("--host", node.host)]
    words = [word for flag, value in (*demand, *hardware) if value is not None for word in (flag, value)]
    scheme = None if case.by_name else rewriting.on_paper(case, plan)
    words += ["--dtype", scheme] if scheme else []
    named = (node.model,) if node.model is not None else ()
    return ("kvplan", "estimate", *named, *words, "--", *rewriting.command(case, plan))
