"""LM Studio's settings of one model: how its llama.cpp loads it.

Source: the files that LM Studio 0.4 writes below ``.internal/user-concrete-model-default-config/PUBLISHER/MODEL.json``:
``load.fields[]`` with key and value, the value bare or ``{checked, value}``.
"""

from collections.abc import Iterator

from kvplan.checker.server import Server, Text, Unreadable, Word
from kvplan.checker.yaml_nodes import Node, documents

KIND = "lm-studio"
_FOLDER = "user-concrete-model-default-config/"
_FLAGS = {
    "contextLength": "-c",
    "numParallelSessions": "-np",
    "llama.kCacheQuantizationType": "-ctk",
    "llama.vCacheQuantizationType": "-ctv",
    "llama.evalBatchSize": "-b",
    "llama.flashAttention": "-fa",
    "llama.acceleration.offloadRatio": "-ngl",
    "offloadKVCacheToGpu": "-kvo",
}


def claims(file: Text) -> bool:
    """JSON with keys of loading a model."""
    return file.path.lower().endswith(".json") and '"llm.load.' in file.text


def servers(file: Text) -> Iterator[Server | Unreadable]:
    """The one model that the file is about; its path names it."""
    for document in documents(file._replace(text=file.text.replace("\t", "  "))):
        if isinstance(document, Unreadable):
            yield document
            continue
        fields = document.get("load", "fields").items
        if fields:
            model = Word(_model(file.path), 1)
            words = (model._replace(text="llama-server"), model._replace(text="-m"), model, *_words(fields))
            yield Server(KIND, model.text.rpartition("/")[2], file.path, document.get("load").line, words, engine="llama.cpp")


def _model(path: str) -> str:
    """PUBLISHER/MODEL of the path, without what LM Studio appends."""
    inside = path.replace("\\", "/").rpartition(_FOLDER)[2] if _FOLDER in path.replace("\\", "/") else path.rpartition("/")[2]
    return inside.removesuffix(".json")


def _words(fields: tuple[Node, ...]) -> Iterator[Word]:
    for field in fields:
        flag = _FLAGS.get((field.get("key").text or "").removeprefix("llm.load."))
        value = field.get("value")
        if value.kind == "map":
            value = value.get("value") if value.get("checked").truth else value.get("nothing")
        if flag and value:
            yield from _said(flag, value)


def _said(flag: str, value: Node) -> Iterator[Word]:
    word = value.word or Word("", value.line)
    if flag == "-kvo":
        yield word._replace(text="-kvo" if value.truth else "-nkvo")
        return
    text = word.text
    if flag == "-fa":
        text = "on" if value.truth else "off"
    elif flag == "-ngl":
        if text not in ("max", "1", "1.0", "off", "0"):  # a share of the layers: how many depends on the model
            return
        text = "all" if text in ("max", "1", "1.0") else "0"
    yield word._replace(text=flag)
    yield word._replace(text=text)
