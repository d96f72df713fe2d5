"""From options to demand: the workload, with every default stated."""

from kvplan.core.errors import RequestError
from kvplan.core.ledger import Finding
from kvplan.core.model import ModelSpec
from kvplan.core.units import parse_count
from kvplan.core.workload import Workload
from kvplan.estimator.options import Options

DEFAULT_CTX_TOKENS = 4096
MAX_TOKENS = 2**50  # a PiB at a byte each


def workload(options: Options, model: ModelSpec) -> tuple[Workload, tuple[Finding, ...]]:
    """The demand, and a note where ``--ctx`` was not said: then it is the smaller of 4096 and the model's limit.

    Raises RequestError for numbers that make no sense, or a prompt longer than the context.
    """
    limit = model.max_ctx_tokens
    ctx = parse_count(options.ctx, option="--ctx") if options.ctx is not None else min(DEFAULT_CTX_TOKENS, limit or DEFAULT_CTX_TOKENS)
    batch = parse_count(options.batch, option="--batch") if options.batch is not None else 1
    prompt = parse_count(options.prompt, option="--prompt") if options.prompt is not None else max(1, ctx - 1)
    if prompt > ctx:
        raise RequestError(
            "bad_number",
            f"--prompt: {prompt} tokens are more than the {ctx} of --ctx",
            hint="--ctx holds prompt and output together; raise it or shorten the prompt",
        )
    if ctx * batch > MAX_TOKENS:
        raise RequestError("bad_number", f"--ctx {ctx} × --batch {batch}: more tokens than any machine holds", hint="lower one of them")
    return Workload(ctx, batch, prompt), (*_default_ctx(options, ctx), *_beyond_limit(model, ctx))


def _default_ctx(options: Options, ctx: int) -> tuple[Finding, ...]:
    if options.ctx is not None:
        return ()
    return (Finding("KV200", "note", f"no --ctx was given: {ctx:,} tokens are assumed"),)


def _beyond_limit(model: ModelSpec, ctx: int) -> tuple[Finding, ...]:
    if model.max_ctx_tokens is None or ctx <= model.max_ctx_tokens:
        return ()
    return (
        Finding(
            "KV201",
            "warning",
            f"--ctx {ctx} is beyond the {model.max_ctx_tokens} positions that {model.id} was made for",
            f"lower it to --ctx {model.max_ctx_tokens}" + (", or use a rope scaling" if model.form.rotary_dim else ""),
        ),
    )
