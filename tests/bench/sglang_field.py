"""Printed figures of SGLang's pools in public logs, against what kvplan makes of the same inputs.

usage: python tests/bench/sglang_field.py FIELD.jsonl [FOLDER of configs: <org>/<name>/config.json]

Each row names a model, settings and printed figures. Sizes are reckoned from the printed tokens or slots, tokens from the memory that the
log says was free; a row is out of scope where neither is printed or the model is unknown, which is said. Exit 1 where one is off by more
than 1 %.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import kvplan
from kvplan.core.device import budget_node
from kvplan.core.errors import KvplanError
from kvplan.core.model import ModelSpec
from kvplan.core.pooled import Rank
from kvplan.core.units import GIB
from kvplan.core.workload import Workload
from kvplan.engines.sglang import plan
from kvplan.engines.sglang.engine import ENGINE
from kvplan.engines.sglang.settings import Settings

BAR = 0.01
_ROUNDING = 0.0051  # GiB, of two printed decimals
_SAME = (
    (r"QwQ-32B|Qwen2\.5-32B", "qwq-32b"),
    (r"Nemotron-3-Nano|nano 30B-A3B", "nemotron-3-nano-30b-a3b"),
    (r"GLM-5", "glm-5"),
    (r"MiMo-V2-Flash", "mimo-v2-flash"),
)
"""Rows that name a model loosely: those with the same layers."""
_LATEST = {"2026-07": "0.5.18", "Jan 2026": "0.5.9", "2026": "0.5.13"}
"""Versions of rows that give a date."""
_LOAD = Workload(1, 1, 1)


class Score(NamedTuple):
    """One figure: what was printed and what was reckoned."""

    row: str
    label: str
    printed: float
    found: float
    slack: float = 0.0

    @property
    def holds(self) -> bool:
        """Within a hundredth, or the rounding of what was printed."""
        return abs(self.found - self.printed) <= max(BAR * self.printed, self.slack)


def scores(row: Mapping[str, Any], folder: Path | None) -> Iterator[Score | str]:
    """The figures of one row, and why others are left out."""
    model = _model(str(row["model"]), folder)
    if model is None:
        yield f"nothing here says what {row['model']} is"
        return
    settings, rank = _rank(row, model)
    printed, name = row["printed"], str(row["id"])
    yield from _sizes(name, printed, settings, rank)
    yield from _tokens(name, printed, settings, rank)
    yield from _states(name, printed, settings, rank)


def _model(said: str, folder: Path | None) -> ModelSpec | None:
    config = None if folder is None else folder / said / "config.json"
    ref = str(config) if config is not None and config.is_file() else next((ref for text, ref in _SAME if re.search(text, said)), None)
    try:
        return None if ref is None else kvplan.load_model(ref)
    except KvplanError:
        return None


def _rank(row: Mapping[str, Any], model: ModelSpec) -> tuple[Settings, Rank]:
    """The settings and the first rank on a card that is large enough for anything."""
    asked, said = row["settings"], str(row["version"])
    found = re.search(r"\d+\.\d+\.\d+", said)
    version = found[0] if found else next((version for date, version in _LATEST.items() if date in said), "")
    words = ["sglang", "serve", "--tp", str(asked.get("tp", row["gpu"]["count"]))]
    for key, flag in (
        ("page_size", "--page-size"),
        ("max_running_requests", "--max-running-requests"),
        ("mem_fraction_static", "--mem-fraction-static"),
    ):
        words += [flag, str(asked[key])] if key in asked else []
    kept = str(asked.get("kv_cache_dtype", asked.get("kv_cache", "auto")))
    words += ["--kv-cache-dtype", "fp8_e4m3"] if kept.startswith("fp8") else []
    words += ["--disable-radix-cache"] if row["printed"].get("max_mamba_cache_size") == asked.get("max_running_requests") else []
    parsed = ENGINE.parse(words, {}, version)
    node = budget_node(2**50)
    settings = ENGINE.resolve(parsed, _LOAD, model, node, parsed.version or version)
    return settings, plan.plan(model, settings, node).ranks[0]


def _sizes(name: str, printed: Mapping[str, float], settings: Settings, rank: Rank) -> Iterator[Score | str]:
    """K, V or both from the printed tokens; of layers with a window those of their own pool."""
    tokens = next((int(value) for label, value in printed.items() if label.startswith("KV Cache is allocated")), None)
    if tokens is None:
        yield "sizes: no tokens are printed"
        return
    windowed = any("swa" in label for label in printed if label.startswith("KV Cache"))
    cells = [cell for cell in rank.cells.tokens if not windowed or cell.window_tokens is not None]
    held = tokens + settings.page_size
    for label, per_token in (
        ("K size (GB)", sum(cell.k_bytes for cell in cells)),
        ("V size (GB)", sum(cell.n_bytes - cell.k_bytes for cell in cells)),
        ("KV size (GB)", sum(cell.n_bytes for cell in cells)),
    ):
        if label in printed:
            yield Score(name, label, printed[label], held * per_token / GIB, _ROUNDING)


def _tokens(name: str, printed: Mapping[str, float], settings: Settings, rank: Rank) -> Iterator[Score | str]:
    """Tokens from what was free after loading, and of a second pool from those of the first."""
    if "full_layer_tokens" in printed and "swa_layer_tokens" in printed:
        found = rank.pool.parts[1].tokens(int(printed["full_layer_tokens"]), settings.page_size)
        yield Score(name, "swa_layer_tokens", printed["swa_layer_tokens"], found)
    after, used = (printed.get(f"Load weight end {what} (GB)") for what in ("avail mem", "mem usage"))
    tokens = next((value for label, value in printed.items() if label == "KV Cache is allocated #tokens"), None)
    if after is None or used is None or tokens is None:
        yield "tokens: what was free before the pool is not printed"
    elif settings.mem_fraction_static == FROM_CARD or rank.pool.states is not None:
        yield "tokens: the share follows from a card that is not named, or was set"
    else:
        rest = (after - (after + used) * (1 - settings.mem_fraction_static)) * GIB
        yield Score(name, "tokens", tokens, rank.pool.tokens_in(int(rest)))


FROM_CARD = ENGINE.resolve(
    ENGINE.parse(["sglang"], {}, "0.5.18"), _LOAD, kvplan.load_model("llama-2-7b"), budget_node(2**50), "0.5.18"
).mem_fraction_static


def _states(name: str, printed: Mapping[str, float], settings: Settings, rank: Rank) -> Iterator[Score | str]:
    """Sizes of states from the printed slots; slots from what tokens and states took together."""
    slots, states = printed.get("max_mamba_cache_size"), rank.pool.states
    if slots is None or states is None:
        return
    took = printed.get("conv_state size (GB)", 0.0) + printed.get("ssm_state size (GB)", 0.0)
    if "conv_state size (GB)" in printed:
        yield Score(name, "state sizes", took, rank.pool.state_bytes(int(slots)) / GIB, 2 * _ROUNDING)
    if settings.radix_cache and "K size (GB)" in printed:
        yield Score(name, "slots", slots, rank.pool.slots_in(int((took + printed["K size (GB)"] + printed["V size (GB)"]) * GIB)))


def _line(row: str, found: Score | str) -> str:
    if isinstance(found, str):
        return f"out of scope  {row}: {found}"
    off = (found.found / found.printed - 1) * 100 if found.printed else 0.0
    figures = f"printed {found.printed:,}, found {found.found:,.2f} ({off:+.2f} %)"
    return f"{'ok  ' if found.holds else 'MISS'}  {found.row} {found.label}: {figures}"


def main() -> int:
    """Every row of SGLang in the file."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    bad = 0
    for row in rows:
        for found in scores(row, folder) if row["engine"] == "SGLang" else ():
            bad += not isinstance(found, str) and not found.holds
            sys.stdout.write(f"  {_line(str(row['id']), found)}\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
