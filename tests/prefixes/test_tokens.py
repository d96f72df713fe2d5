"""Requests as tokens: the stand-in, a tokenizer, chats by a template."""

import json
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvplan.core.errors import RequestError, UnavailableError
from kvplan.prefixes.rendering import plain, template
from kvplan.prefixes.request import Message, Request, Tool
from kvplan.prefixes.tokens import BYTES, stand_in, tokens_by

CHAT = Request(1, messages=(Message("system", "be kind"), Message("user", "hi")), tools=(Tool("f", '{"name": "f"}'),))
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}{{ bos_token }}"


@given(st.text(), st.text())
def test_the_tokens_of_a_beginning_begin_the_tokens(head: str, tail: str) -> None:
    assert stand_in(head + tail).startswith(stand_in(head))


def test_four_bytes_are_a_token() -> None:
    assert BYTES.encoded(Request(1, text="a" * 9)) == (b"a" * 9, 3, 3, 0)


def test_an_answer_stays_but_for_its_last_token() -> None:
    assert BYTES.encoded(Request(1, text="a" * 8, answer="b" * 8)) == (b"a" * 8 + b"b" * 8, 2, 3, 2)
    assert BYTES.encoded(Request(1, text="a" * 8, n_output=5)) == (b"a" * 8, 2, 6, 5)


def test_an_answer_in_another_form_than_the_prompt_is_not_known() -> None:
    ids = array("I", [1, 2]).tobytes()
    assert BYTES.encoded(Request(1, ids=ids, answer="b" * 8)) == (ids, 2, 3, 2)
    assert BYTES.encoded(Request(1, text="a" * 8, answer=ids)) == (b"a" * 8, 2, 3, 2)
    assert BYTES.encoded(Request(1, ids=ids, answer=ids)) == (ids + ids, 2, 3, 2)


def test_a_plain_chat_goes_on_where_its_answer_stood() -> None:
    assert plain(CHAT) == '<|tools|>\n{"name": "f"}\n<|end|>\n<|system|>\nbe kind<|end|>\n<|user|>\nhi<|end|>\n<|assistant|>\n'
    later = CHAT._replace(messages=(*CHAT.messages, Message("assistant", "yes"), Message("user", "so?")))
    assert plain(later).startswith(plain(CHAT) + "yes")
    unfinished = CHAT._replace(messages=(*CHAT.messages, Message("assistant", "ye")))
    assert plain(unfinished).endswith("ye<|end|>\n")


def test_a_model_s_own_template(tmp_path: Path) -> None:
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": TEMPLATE, "bos_token": {"content": "<s>"}}))
    found = template(tmp_path)
    assert found is not None
    assert found.rendering()(CHAT) == '[system]be kind[user]hi[{"name": "f"}]<s>'
    config.write_text(json.dumps({"chat_template": [{"name": "other", "template": "x"}, {"name": "default", "template": "y"}]}))
    assert template(tmp_path) == ("y", {})
    (tmp_path / "chat_template.jinja").write_text("{{ strftime_now('%Y') }}{{ raise_exception('no') if not tools }}")
    own = template(tmp_path)
    assert own is not None
    assert own.rendering()(CHAT) == "2026"
    with pytest.raises(RequestError, match="line 1: the chat template does not render it: no"):
        own.rendering()(CHAT._replace(tools=()))


def test_a_template_runs_in_a_sandbox(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages.__class__.__mro__[1].__subclasses__() }}")
    found = template(tmp_path)
    assert found is not None
    with pytest.raises(RequestError, match="does not render"):
        found.rendering()(CHAT)


def test_no_template(tmp_path: Path) -> None:
    assert template(tmp_path) is None
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(RequestError, match="tokenizer_config"):
        template(tmp_path)


def test_where_tokenizers_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tokens_by(None, "llama-2-7b", templated=True) is BYTES
    assert tokens_by(None, str(tmp_path), templated=True) is BYTES
    with pytest.raises(RequestError, match=r"no tokenizer\.json there"):
        tokens_by(str(tmp_path), None, templated=True)
    (tmp_path / "tokenizer.json").write_text("{}")
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    assert tokens_by(None, str(tmp_path), templated=True) is BYTES
    with pytest.raises(UnavailableError, match="needs the package tokenizers"):
        tokens_by(str(tmp_path), None, templated=True)


def test_a_tokenizer_of_one_s_own(tmp_path: Path) -> None:
    package = pytest.importorskip("tokenizers", reason="needs the extra tokenizers")
    words = {"<unk>": 0, "hi": 1, "be": 2, "kind": 3}
    made = package.Tokenizer(package.models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = package.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text("{}")
    for said in (str(tmp_path), str(tmp_path / "tokenizer.json")):
        found = tokens_by(said, None, templated=True)
        assert (found.how, found.rendering) == ("tokenizer", "plain")
        assert found.encoded(Request(1, text="hi be", answer="kind")) == (array("I", [1, 2, 3]).tobytes(), 2, 2, 1)
    assert tokens_by(None, str(tmp_path / "config.json"), templated=True).how == "tokenizer"
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RequestError, match="no tokenizer"):
        tokens_by(str(tmp_path), None, templated=True)
