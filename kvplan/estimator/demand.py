"""From options to demand: the workload, with every default stated."""

from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.core.units import parse_count
from kvplan.core.workload import Workload
from kvplan.estimator.options import Options

DEFAULT_CTX_TOKENS = 4096
ANY = Workload(1, 1, 1)
"""Where a command's settings don't depend on the workload."""
MAX_TOKENS = 2**50  # a PiB at a byte each


def workload(
    options: Options, model: ModelSpec, limits: tuple[int | None, int | None] = (None, None)
) -> tuple[Workload, tuple[Finding, ...]]:
    """The demand, and a note where ``--ctx`` was not said: then it is what the command allows, else the smaller of 4096 and the
    model's limit. ``limits`` are the tokens of a sequence and the sequences at once that a command allows.

    Raises RequestError for numbers that make no sense or are beyond the command's limits, or a prompt longer than the context.
    """
    most_tokens, most_sequences = limits
    usual = most_tokens or usual_ctx(model)
    ctx = within(parse_count(options.ctx, option="--ctx") if options.ctx is not None else usual, most_tokens, "--ctx")
    batch = within(parse_count(options.batch, option="--batch") if options.batch is not None else 1, most_sequences, "--batch")
    prompt = None if options.prompt is None else parse_count(options.prompt, option="--prompt")
    return checked(ctx, batch, prompt), (*_default_ctx(options, ctx, most_tokens), *_beyond_limit(model, ctx))


def checked(ctx_tokens: int, batch: int, prompt_tokens: int | None) -> Workload:
    """The demand in numbers; without a prompt all but the last token are one.

    Raises RequestError for a prompt longer than the context, and for more tokens than any machine holds.
    """
    prompt = max(1, ctx_tokens - 1) if prompt_tokens is None else prompt_tokens
    if prompt > ctx_tokens:
        raise RequestError(
            "bad_number",
            f"--prompt: {prompt} tokens are more than the {ctx_tokens} of --ctx",
            hint="--ctx holds prompt and output together; raise it or shorten the prompt",
        )
    if ctx_tokens * batch > MAX_TOKENS:
        raise RequestError(
            "bad_number", f"--ctx {ctx_tokens} × --batch {batch}: more tokens than any machine holds", hint="lower one of them"
        )
    return Workload(ctx_tokens, batch, prompt)


def usual_ctx(model: ModelSpec) -> int:
    """Tokens of a sequence where nobody says how many."""
    return min(DEFAULT_CTX_TOKENS, model.max_ctx_tokens or DEFAULT_CTX_TOKENS)


def within(wanted: int, most: int | None, option: str) -> int:
    """``wanted``. Raises RequestError where it is beyond ``most``, which a command allows."""
    if most is not None and wanted > most:
        what = "tokens in a sequence" if option == "--ctx" else "sequences at once"
        raise RequestError("beyond_limit", f"{option} {wanted}: the command allows {most} {what}", hint=f"raise that, or lower {option}")
    return wanted


def _default_ctx(options: Options, ctx: int, allowed: int | None) -> tuple[Finding, ...]:
    if options.ctx is not None:
        return ()
    why = ", as many as the command allows," if ctx == allowed else ""
    return (Finding("KV200", "note", f"no --ctx was given: {ctx:,} tokens{why} are assumed"),)


def _beyond_limit(model: ModelSpec, ctx: int) -> tuple[Finding, ...]:
    limit = model.reach_tokens
    if limit is None or ctx <= limit:
        return ()
    return (
        Finding(
            "KV201",
            "warning",
            f"--ctx {ctx} is beyond the {limit} positions that {model.id} was made for",
            f"lower it to --ctx {limit}" + (", or use a rope scaling" if model.form.rotary_dim else ""),
        ),
    )
