"""The log of text-generation-inference: a token budget that a warm-up measured."""

from kvplan.core.logs import Shape

ENGINE = "tgi"
_ROUTER = "text-generation-inference 2.2 router/src/server.rs"

SHAPES = (
    Shape("text_generation_launcher: Args {=args|rest}", "text-generation-inference 2.2 launcher/src/main.rs", "start"),
    Shape("Setting max batch total tokens to {max batch total tokens|tokens}", _ROUTER, "pool"),
    Shape("Model supports up to {max batch total tokens|tokens} total tokens", "text-generation-inference 1.3 router/src/main.rs"),
    Shape("Inferred max batch total tokens: {max batch total tokens|tokens}", "text-generation-inference 1.3 router/src/main.rs"),
    Shape(
        "Not enough memory to handle {prefill tokens|tokens} prefill tokens", "text-generation-inference 1.3 server", "refused", "no_pool"
    ),
    Shape("Not enough memory to handle max_batch_prefill_tokens", "text-generation-inference 2.2 server", "refused", "no_pool"),
    Shape("text_generation_router", _ROUTER),
    Shape("text_generation_launcher", "text-generation-inference 2.2 launcher/src/main.rs"),
    Shape("text_generation_server/", "a traceback", "frame"),
    Shape("memory in use: {process memory|size}", "text-generation-inference 1.3"),
)
