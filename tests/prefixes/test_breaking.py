"""What breaks prefixes, and what mending gives."""

import random
from pathlib import Path

import pytest

import kvplan
from kvplan.prefixes.answer import Told
from kvplan.prefixes.divergence import alike, partings
from kvplan.prefixes.patterns import IDENTIFIER, PERSON, TIMESTAMP, bare
from tests.prefixes.logs import RULES, chat, written

WORDS = ("where", "is", "my", "lamp", "the", "order", "bulb", "broken", "return", "we", "look", "into", "that", "now", "thank", "you")
TOOLS = [{"name": name, "description": "looks up a thing of the shop", "parameters": {"type": "object"}} for name in ("a", "b", "c")]


def words(seed: int, n: int = 15) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=n))


def causes(folder: Path, *requests: object) -> dict[str, Told]:
    found = kvplan.prefix(written(folder, *requests)).breaks
    assert found is not None
    return {told.cause.kind: told for told in found.causes}


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02",
        "2026-03-02 08:07",
        "2026-03-02T08:07:11.123Z",
        "2026-03-02T08:07:11+01:00",
        "Monday, March 2, 2026 at 10:33 AM",
        "2 March 2026",
        "Mar 2nd, 2026",
        "02.03.2026",
        "10:33",
        "Tuesday",
        "1767225600",
        "1767225600123",
    ],
)
def test_times(text: str) -> None:
    found = TIMESTAMP.search(f"It is {text}.\nBe kind.")
    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize(
    "text",
    [
        "550e8400-e29b-41d4-a716-446655440000",
        "req_8f3a91",
        "8f3a91bc22",
        "chatcmpl-8f3a91xyz",
        "123456",
        "A8f3kLm29qPz71xYw",
        "s-2024-abc123",
    ],
)
def test_ids(text: str) -> None:
    found = IDENTIFIER.search(f"this is {text}.\nBe kind.")
    assert found is not None
    assert found[0] == text


@pytest.mark.parametrize("text", ["accommodation", "llama-2-7b", "GPT-4", "hello world 2000", "deadbeef", "Market 12", "section 3.4"])
def test_words_that_are_neither(text: str) -> None:
    assert not TIMESTAMP.search(text)
    assert not IDENTIFIER.search(text)


def test_lines_that_name_somebody() -> None:
    assert all(PERSON.search(text) for text in ("Customer: Ann", "the user's name is Bo", "Hello Ann", "write to ann@example.org"))
    assert not any(PERSON.search(text) for text in ("You help customers of a shop.", "Question: how many?"))


def test_white_space_in_one_form() -> None:
    assert bare("a  b \n\n\tc\n") == "a b c"


def test_how_far_texts_are_alike() -> None:
    text = "".join(random.Random(1).choices("ab", k=3000))
    for at in (0, 1, 255, 256, 257, 1000, 2999, 3000):
        assert alike(text, f"{text[:at]}X{text[at:]}") == at
    assert alike(text, text, 10, 10) == 2990
    assert alike("", "a") == alike("a", "b") == 0


def test_texts_that_never_come_together_again_have_no_partings() -> None:
    assert not list(partings(words(1), words(2)))
    assert not list(partings("a", "a b"))


def test_two_differences_in_one_text(tmp_path: Path) -> None:
    requests = [chat(f"It is 2026-03-02 08:{i:02d}. {RULES}\nRequest {100000 + i} of the day.\n{RULES}", words(i)) for i in range(6)]
    found = causes(tmp_path, *requests)
    assert list(found) == ["timestamp", "id"]
    assert found["timestamp"].cause.lost_tokens > found["id"].cause.lost_tokens  # it stands before both texts


def test_a_time(tmp_path: Path) -> None:
    (kind, told), *rest = causes(tmp_path, *(chat(f"It is 2026-03-02 08:{i:02d}. {RULES}", words(i)) for i in range(6))).items()
    assert (kind, rest) == ("timestamp", [])
    assert told.cause.n_requests == 5
    assert told.cause.first_at == 2  # "It is " is six signs
    assert told.cause.example.found.mine.startswith("2026-03-02 08:0")
    mended = kvplan.prefix(written(tmp_path, *(chat(f"It is . {RULES}", f"{words(i)}\n2026-03-02 08:{i:02d}") for i in range(6))))
    assert told.mended_rate == pytest.approx(mended.hit_rate)


def test_an_id_in_a_text(tmp_path: Path) -> None:
    (told,) = causes(tmp_path, *({"prompt": f"[trace {i:08d}]\n{RULES}\n{words(i)}"} for i in range(4))).values()
    assert told.cause.kind == "id"
    mended = kvplan.prefix(written(tmp_path, *({"prompt": f"[trace ]\n{RULES}\n{words(i)}{i:08d}"} for i in range(4))))
    assert told.mended_rate == pytest.approx(mended.hit_rate)


def test_a_user_s_own_text(tmp_path: Path) -> None:
    requests = [chat(f"Language of choice is {name}. {RULES}", words(i), user=name) for i, name in enumerate(("Finnish", "Dutch", "Greek"))]
    (told,) = causes(tmp_path, *requests).values()
    assert told.cause.kind == "per_user"  # by the log's users
    (told,) = causes(tmp_path, *(chat(f"Name: {name}\n{RULES}", words(i)) for i, name in enumerate(("Ann", "Bo", "Cy")))).values()
    assert told.cause.kind == "per_user"  # by its form
    assert told.mended_rate is not None


def test_documents_before_instructions(tmp_path: Path) -> None:
    requests = [
        {"prompt": f"Documents:\n{words(i, 30)}\n{words(i + 9, 30)}\n\nInstructions: {RULES}\nQuestion: {words(i + 50)}"} for i in range(5)
    ]
    (told,) = causes(tmp_path, *requests).values()
    assert told.cause.kind == "private_text"
    mended = [
        {"prompt": f"Documents:\nInstructions: {RULES}\nQuestion: {words(i + 50)}{words(i, 30)}\n{words(i + 9, 30)}\n\n"} for i in range(5)
    ]
    assert told.mended_rate == pytest.approx(kvplan.prefix(written(tmp_path, *mended)).hit_rate, abs=0.02)


def test_tools_in_another_order(tmp_path: Path) -> None:
    requests = [chat(RULES, words(i), tools=TOOLS[i % 3 :] + TOOLS[: i % 3]) for i in range(6)]
    (told,) = causes(tmp_path, *requests).values()
    assert told.cause.kind == "tool_order"
    assert told.cause.n_requests == 2  # each order once
    in_order = [chat(RULES, words(i), tools=TOOLS) for i in range(6)]
    assert told.mended_rate == pytest.approx(kvplan.prefix(written(tmp_path, *in_order)).hit_rate)


def test_keys_in_another_order(tmp_path: Path) -> None:
    turned = [dict(reversed(tool.items())) for tool in TOOLS]
    (told,) = causes(tmp_path, *(chat(RULES, words(i), tools=(TOOLS, turned)[i % 2]) for i in range(4))).values()
    assert told.cause.kind == "key_order"
    assert told.mended_rate == pytest.approx(
        kvplan.prefix(written(tmp_path, *(chat(RULES, words(i), tools=TOOLS) for i in range(4)))).hit_rate, abs=0.05
    )


def test_other_tools_are_no_break(tmp_path: Path) -> None:
    assert not causes(tmp_path, *(chat(RULES, words(i), tools=TOOLS[: 1 + i % 2]) for i in range(4)))


def test_keys_of_calls_in_another_order(tmp_path: Path) -> None:
    def call(*keys: str) -> dict[str, object]:
        said = {"id": "c", "name": "lookup", "arguments": "of a long list of things that the shop has in stock"}
        return {"role": "assistant", "content": "", "tool_calls": [{key: said[key] for key in keys}]}

    head = chat(RULES, words(1))["messages"]
    assert isinstance(head, list)
    tail = [{"role": "tool", "content": words(3, 40)}]
    requests = [{"messages": [*head, call(*keys), *tail]} for keys in (("id", "name", "arguments"), ("name", "id", "arguments"))]
    (told,) = causes(tmp_path, *requests).values()
    assert told.cause.kind == "key_order"


def test_system_texts_in_variants(tmp_path: Path) -> None:
    variants = (RULES, RULES.replace("brief", "short"))
    (told,) = causes(tmp_path, *(chat(variants[i % 2], words(i)) for i in range(6))).values()
    assert told.cause.kind == "system_variants"
    assert told.cause.n_requests == 1


def test_a_system_text_of_each_request_is_its_own(tmp_path: Path) -> None:
    (told,) = causes(tmp_path, *(chat(f"Known of the shop: {words(i)}.\n{RULES}", words(i + 9)) for i in range(5))).values()
    assert told.cause.kind == "private_text"


def test_a_history_cut_in_front(tmp_path: Path) -> None:
    said = [words(i, 20) for i in range(20)]
    requests = [chat(RULES, *said[max(0, n - 4) : n + 1], session="s") for n in range(0, 20, 2)]
    (told,) = causes(tmp_path, *requests).values()
    assert (told.cause.kind, told.mended_rate) == ("front_cut", None)
    assert told.cause.n_requests == 7  # from the fourth request on


def test_other_white_space(tmp_path: Path) -> None:
    (told,) = causes(tmp_path, *({"prompt": f"Rules:{blank}{RULES}\n{words(i)}"} for i, blank in enumerate((" ", "\n", " ")))).values()
    assert told.cause.kind == "whitespace"
    assert told.mended_rate == pytest.approx(
        kvplan.prefix(written(tmp_path, *({"prompt": bare(f"Rules: {RULES}\n{words(i)}")} for i in range(3)))).hit_rate
    )


def test_a_log_in_order_has_nothing_to_mend(tmp_path: Path) -> None:
    said = [words(i) for i in range(9)]
    requests = [chat(RULES, *said[: 2 * turn + 1], session="s", answer=said[2 * turn + 1]) for turn in range(4)]
    found = kvplan.prefix(written(tmp_path, *requests, *(chat(RULES, words(50 + i)) for i in range(3))))
    assert found.breaks is not None
    assert found.breaks.causes == ()
    assert found.breaks.is_whole


def test_ids_of_tokens_can_t_be_read(tmp_path: Path) -> None:
    assert kvplan.prefix(written(tmp_path, list(range(40)), list(range(40)))).breaks is None


def test_all_of_it_mended(tmp_path: Path) -> None:
    requests = [chat(f"It is 08:{i:02d}.\nName: {'ABC'[i % 3]}\n{RULES}", words(i), tools=TOOLS[:: (1, -1)[i % 2]]) for i in range(8)]
    found = kvplan.prefix(written(tmp_path, *requests)).breaks
    assert found is not None
    assert {told.cause.kind for told in found.causes} == {"timestamp", "per_user", "tool_order"}
    alone = max(told.mended_rate or 0 for told in found.causes)
    assert found.mended_rate is not None
    assert found.mended_rate > alone > found.hit_rate


def test_a_long_log_is_looked_at_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kvplan.prefixes.replaying.SAMPLE_BYTES", 600)
    found = kvplan.prefix(written(tmp_path, *(chat(f"It is 08:{i:02d}. {RULES}", words(i)) for i in range(8)))).breaks
    assert found is not None
    assert (found.n_requests, found.is_whole) == (3, False)


def test_a_text_beside_a_chat_is_no_break(tmp_path: Path) -> None:
    marked = f"<|system|>\n{RULES}<|end|>\n<|user|>\n{words(1)}"  # begins as the rendered chat does
    assert not causes(tmp_path, chat(RULES, words(1)), {"prompt": marked})


def test_other_roles_are_no_break(tmp_path: Path) -> None:
    first, second = (
        {"messages": [{"role": role, "content": RULES}, {"role": "user", "content": words(1)}]} for role in ("system", "developer")
    )
    assert not causes(tmp_path, first, second)


def test_other_calls_are_no_break(tmp_path: Path) -> None:
    calls = [{"role": "assistant", "content": "", "tool_calls": [{"name": name}]} for name in ("a", "b")]
    head = chat(RULES, words(1))["messages"]
    assert isinstance(head, list)
    tail = [{"role": "tool", "content": words(3, 40)}]
    assert not causes(tmp_path, *({"messages": [*head, call, *tail]} for call in calls))


def test_system_texts_that_have_nothing_in_common_are_variants_too(tmp_path: Path) -> None:
    texts = (RULES, "You are a pirate and speak of nothing but the sea, of ships, of gold and of the rum that there was.")
    (told,) = causes(tmp_path, *(chat(texts[i % 2], words(i)) for i in range(6))).values()
    assert (told.cause.kind, told.mended_rate) == ("system_variants", None)
    assert not causes(tmp_path, chat(texts[0], words(1)), chat(texts[1], words(2)))  # each once: two services, for all that is known


def test_a_short_word_that_comes_again_is_no_cut(tmp_path: Path) -> None:
    requests = [chat(RULES, "first question", "yes", "ok", session="s"), chat(RULES, "ok", session="s")]
    assert not causes(tmp_path, *requests)
