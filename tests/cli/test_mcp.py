"""``kvplan mcp`` where the protocol's package is missing."""

import pytest

from kvplan.cli.commands import mcp
from tests.running import Run


def test_it_says_what_to_install(kvplan: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "find_spec", lambda name: None)
    code, out, err = kvplan("mcp")
    assert (code, out) == (3, "")
    assert "hint: pip install 'kvplan[mcp]'" in err
