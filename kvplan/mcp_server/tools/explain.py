"""The tool ``explain``."""

from pydantic import Field

from kvplan.core.errors import RequestError
from kvplan.explainer import asked as known
from kvplan.explainer.case import Said
from kvplan.explainer.explanation import explain, of_blocks
from kvplan.mcp_server.asked import STDIN, Online, network
from kvplan.render import explanation, manual

NAME = "explain"
DESCRIPTION = (
    "What an engine's log or out-of-memory message says: where the memory went, why it failed, what to change. Or the manual page of a "
    "rule (KV322) or term (kv_cache, max-model-len) that another answer names. Answers as `kvplan explain --json`."
)


class Asked(Online):
    """One of ``topic``, ``log`` and ``path``."""

    topic: str | None = Field(None, description="a rule's id, a term of the ledger or a setting")
    log: str | None = Field(None, description="text of a log of vLLM, llama.cpp, Ollama, Transformers, SGLang, TGI or TensorRT-LLM")
    path: str | None = Field(None, description="file that holds such a log")
    model: str | None = Field(None, description="the model, where the log does not name it")
    gpu: str | None = Field(None, description="the GPU, where the log does not name it")


def answer(asked: Asked) -> str:
    """The explanation or page. Raises KvplanError for a wrong request."""
    if sum(said is not None for said in (asked.topic, asked.log, asked.path)) != 1:
        raise RequestError("usage", "expected one of topic, log and path", hint='{"topic": "KV322"}, {"log": "…"}, {"path": "server.log"}')
    if STDIN in (asked.path, asked.topic, asked.model):
        raise RequestError("usage", "'-' is stdin, which the protocol needs", hint="give the log as text")
    if asked.topic is not None:
        return manual.page(asked.topic, as_json=True)
    with network(online=asked.online):
        if asked.path is not None:
            return explanation.as_json(explain(asked.path, model=asked.model, gpu=asked.gpu))
        known.check(asked.model, asked.gpu)
        return explanation.as_json(of_blocks([(asked.log or "").encode()], Said(asked.model, asked.gpu)))
