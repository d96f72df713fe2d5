"""Made-up chats: what is found turn by turn, by hand."""

import pytest

import kvplan
from kvplan.core.device import Gpu
from kvplan.core.errors import RequestError
from kvplan.core.ledger import KvGroup, KvPlan
from kvplan.prefixes.chat import Turn, spec
from kvplan.prefixes.keeping import bus, group_bytes


def turns(said: str, **options: object) -> tuple[Turn, ...]:
    found = kvplan.prefix(chat=said, **options).chat  # type: ignore[arg-type]
    assert found is not None
    return found.turns


def test_a_chat_that_only_grows_by_hand() -> None:
    # prompts of 100 + 20, + 50 each; kept: prompt and answer but its last token, in whole blocks of 16
    assert turns("turns=3,user=20,answer=30,system=100") == (
        Turn(1, 120, 0, 0),
        Turn(2, 170, 144, 0),  # 149 tokens are kept: 9 blocks
        Turn(3, 220, 192, 0),  # 199: 12 blocks
    )


def test_sessions_share_the_system_text() -> None:
    first, _ = turns("turns=2,user=20,answer=30,system=100,sessions=3")
    assert first == Turn(1, 360, 2 * 96, 0)


def test_an_edit_undoes_all_behind_it() -> None:
    *_, edited, after = turns("turns=5,user=20,answer=30,system=100,edit=4@2", block=1)
    # before turn 4: 100 + 3 · 50 tokens; from the second user's message on, at token 150, they are undone
    assert edited == Turn(4, 270, 150, 100)
    assert after == Turn(5, 320, 299, 0)


def test_two_edits() -> None:
    assert [turn.invalidated_tokens for turn in turns("turns=4,user=20,answer=30,system=100,edit=3@1+4@3")] == [0, 0, 100, 50]


def test_private_text_in_front_is_shared_by_nobody() -> None:
    first, second = turns("turns=2,user=20,answer=30,system=100,private=16,sessions=3")
    assert first.hit_tokens == 0
    assert second.hit_tokens == 3 * 160


def test_a_history_that_is_cut_moves() -> None:
    found = turns("turns=6,user=20,answer=30,system=100,keep=200", block=1)
    assert [turn.prompt_tokens for turn in found] == [120, 170, 170, 170, 170, 170]
    assert [turn.hit_tokens for turn in found] == [0, 149, 100, 100, 100, 100]
    assert found[3].invalidated_tokens == 100


def test_computed_tokens_grow_with_turns_and_without_reuse_with_their_square() -> None:
    few, many = (kvplan.prefix(chat=f"turns={n},user=200,answer=300,system=0") for n in (20, 40))
    assert 3.8 < many.prompt_tokens / few.prompt_tokens < 4.1
    assert 1.9 < (many.prompt_tokens - many.hit_tokens) / (few.prompt_tokens - few.hit_tokens) < 2.1


def test_a_pool_that_holds_one_session_fewer_thrashes() -> None:
    found = kvplan.prefix(chat="turns=6,user=100,answer=100,sessions=4,system=0")
    assert found.thrash_tokens is not None
    assert found.warmth is not None
    held = kvplan.prefix(chat="turns=6,user=100,answer=100,sessions=4,system=0", pool_tokens=4 * found.warmth.tokens_per_session)
    less = kvplan.prefix(chat="turns=6,user=100,answer=100,sessions=4,system=0", pool_tokens=3 * found.warmth.tokens_per_session)
    assert held.hit_rate == found.hit_rate
    assert found.chat is not None
    assert less.chat is not None
    assert found.chat.turns[-1].hit_tokens == 4 * 992
    assert less.chat.turns[-1].hit_tokens < 4 * 992 / 3
    assert held.warmth is not None
    assert less.warmth is not None
    assert (held.warmth.warm, less.warmth.warm) == (4, 3)


def test_slots_of_llama_cpp() -> None:
    one, two = (kvplan.prefix(chat="turns=4,user=50,answer=50,system=4,sessions=2", engine="llama.cpp", slots=n) for n in (1, 2))
    assert one.hit_tokens == 7 * 4  # the system text alone: each drives out the other
    assert two.chat is not None
    assert two.chat.turns[3] == Turn(4, 2 * 354, 2 * 303, 0)
    assert two.thrash_tokens is None


def test_sessions_that_are_alike_take_each_other_s_slot() -> None:
    found = kvplan.prefix(chat="turns=4,user=50,answer=50,system=100,sessions=2", engine="llama.cpp", slots=2)
    assert found.hit_tokens == 7 * 100  # more than a tenth is the same, and the other slot stays empty


def test_transformers_hands_on_what_its_caller_keeps() -> None:
    assert turns("turns=2,user=20,answer=30,system=100", engine="transformers")[1] == Turn(2, 170, 149, 0)


def test_sglang_finds_tokens() -> None:
    assert turns("turns=2,user=20,answer=30,system=100", engine="sglang")[1] == Turn(2, 170, 149, 0)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("turn=3", "did you mean 'turns'?"),
        ("turns", "expected key=number"),
        ("user=3", "not how many turns"),
        ("turns=0", "--chat turns: expected a whole number"),
        ("turns=3,user=x", "--chat user"),
        ("turns=3,edit=2", "edit=2: expected a turn of the 3"),
        ("turns=3,edit=2@2", "edit=2@2"),
        ("turns=3,edit=4@1", "edit=4@1"),
        ("turns=100k", "too many to replay"),
    ],
)
def test_chats_that_are_none(said: str, why: str) -> None:
    with pytest.raises(RequestError) as raised:
        spec(said)
    assert why in f"{raised.value.message} {raised.value.hint}"


def test_what_a_conversation_is_to_keep() -> None:
    found = kvplan.prefix(chat="turns=2,user=100,answer=100,system=1000", model="llama-3.1-8b", gpu="l4")
    assert found.chat is not None
    kept = found.chat.kept
    assert kept is not None
    assert (kept.n_tokens, kept.bytes) == (1400, 1400 * 131072)  # 2 · 32 layers · 8 heads · 128 · 2 B
    assert kept.checkpoints is None
    assert kept.load_s is not None
    assert kept.load_s.best == pytest.approx(1400 * 131072 / (32e9 * 0.8))  # PCIe 4
    assert kept.compute_s is not None
    assert kept.compute_s.low > kept.load_s.high


def test_windows_keep_no_more_than_they_hold() -> None:
    groups = (KvGroup("sliding", 2, 100, 10), KvGroup("full", 1, None, 10), KvGroup("recurrent", 5, None, 0))
    assert group_bytes(KvPlan("", "", 0, 0, 0, 0, 0, groups), 1000) == 2 * 100 * 10 + 1000 * 10


@pytest.mark.parametrize(
    ("model", "engine", "gpu", "kind", "every"),
    [
        ("qwen3-next-80b-a3b", "vllm", "h100-sxm:4", "recurrent", None),
        ("gemma-3-12b", "llama.cpp", "l40s", "sliding", 8192),
        ("qwen3-next-80b-a3b", "llama.cpp", "h200", "recurrent", 8192),
    ],
)
def test_checkpoints(model: str, engine: str, gpu: str, kind: str, every: int | None) -> None:
    found = kvplan.prefix(chat="turns=4,user=5k,answer=300", model=model, engine=engine, gpu=gpu)
    assert found.chat is not None
    assert found.chat.kept is not None
    saved = found.chat.kept.checkpoints
    assert saved is not None
    assert saved.kind == kind
    assert saved.every_tokens == (every or found.serving.block_tokens)
    assert saved.n_copies == (2 if every else 1)
    assert saved.bytes_each > 0


@pytest.mark.parametrize(
    ("interconnect", "capability", "rate"),
    [
        ("PCIe3", (8, 0), 16e9),
        ("PCIe5 x16", (8, 9), 64e9),
        ("NVLink4 900GB/s", (9, 0), 64e9),
        ("", (8, 0), 32e9),
        ("", (7, 0), 16e9),
        ("", None, 32e9),
    ],
)
def test_the_bus_to_the_host(interconnect: str, capability: tuple[int, int] | None, rate: float) -> None:
    assert bus(Gpu("x", "x", "", 1, 1, compute_capability=capability, interconnect=interconnect)) == rate
