"""The page in a real browser, where there is one: nothing asked for, nothing complained of, nothing cut off."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvplan.cli import main
from tests.report.browser import Browser, Look, program
from tests.report.test_page import DATA, HOSTILE, POOL

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium is installed (Debian: apt-get install chromium)")

LOOKS = [pytest.param(Look(width, dark), id=f"{width} {'dark' if dark else 'light'}") for width in (1280, 390) for dark in (False, True)]
PAGES = {
    "pool": POOL,
    "several": ("qwen3-8b", "--gpu", "l4,l40s", "--engine", "vllm", "--ctx", "32k"),
    "results": tuple(str(path) for path in sorted(DATA.glob("*.json"))),
}
AXE = "KVPLAN_AXE"
"""The variable that names axe.min.js, of npm's package axe-core."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module", params=PAGES)
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", *PAGES[request.param], "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("look", LOOKS)
def test_it_opens_in_silence_and_in_full_width(browser: Browser, page: Path, look: Look) -> None:
    browser.open(page, look)
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.value("document.documentElement.scrollWidth") == look.width
    ground = str(browser.value("getComputedStyle(document.body).backgroundColor"))
    channels = [int(channel) for channel in re.findall(r"\d+", ground)[:3]]
    assert max(channels) < 64 if look.dark else min(channels) > 192


@pytest.mark.parametrize("look", LOOKS)
def test_no_chart_leaves_its_figure(browser: Browser, page: Path, look: Look) -> None:
    browser.open(page, look)
    beyond = browser.value(
        "[...document.querySelectorAll('figure svg.plot text')].filter(one => { const box = one.getBoundingClientRect();"
        " return box.width && (box.left < 0 || box.right > innerWidth); }).map(one => one.textContent)"
    )
    assert beyond == []


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(browser: Browser, page: Path, look: Look) -> None:
    script = Path(os.environ.get(AXE, ""))
    if not script.is_file():
        pytest.skip(f"{AXE} names no axe.min.js (npm pack axe-core)")
    browser.open(page, look)
    browser.value("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    browser.value(script.read_text(encoding="utf-8") + ";0")
    found = browser.value(
        "axe.run().then(found => found.violations.map(one => `${one.impact} ${one.id}: ${one.nodes[0].html.slice(0, 200)}`))"
    )
    assert found == []


def test_copying_and_hovering_work(browser: Browser, page: Path) -> None:
    browser.open(page, Look())
    assert browser.value("[...document.querySelectorAll('button')].every(one => !one.hidden)") is True
    browser.value("document.querySelector('button').click()")
    said = browser.value("new Promise(done => setTimeout(() => done(document.querySelector('button').textContent), 100))")
    assert said in ("Copied", "Selected")
    told = browser.value(
        "(() => { const over = document.querySelector('[data-tip]'); if (!over) return null;"
        " over.dispatchEvent(new PointerEvent('pointermove', {bubbles: true, clientX: 10, clientY: 10}));"
        " const tip = document.getElementById('tip'); return [tip.hidden, tip.textContent === over.dataset.tip]; })()"
    )
    assert told in (None, [False, True])


def test_the_keyboard_reaches_everything_that_scrolls(browser: Browser, page: Path) -> None:
    browser.open(page, Look(390))
    missed = browser.value(
        "[...document.querySelectorAll('.scroll, pre')].filter(one => one.tabIndex || !one.getAttribute('aria-label')).length"
    )
    assert missed == 0


def test_print_cuts_no_chart_off(browser: Browser, page: Path) -> None:
    browser.open(page, Look())
    assert browser.print().startswith(b"%PDF-")
    browser.say("Emulation.setEmulatedMedia", media="print")
    browser.say("Emulation.setDeviceMetricsOverride", width=718, height=1047, deviceScaleFactor=1, mobile=False)  # A4 less its margins
    wide = browser.value(
        "[...document.querySelectorAll('figure, figure svg.plot, .tiles')].filter(one => {"
        " const box = one.getBoundingClientRect(); return box.right > 719 || box.left < -1 || box.height > 1047; }).length"
    )
    assert wide == 0
    assert browser.value("[...document.querySelectorAll('figure')].every(one => getComputedStyle(one).breakInside === 'avoid')") is True


def test_hostile_words_run_nothing(browser: Browser, tmp_path: Path) -> None:
    source = (DATA / "estimate.json").read_text(encoding="utf-8")
    quoted = HOSTILE.replace("\\", "\\\\").replace('"', '\\"')
    path = tmp_path / "estimate.json"
    path.write_text(source.replace("qwen3-8b", quoted).replace("weights", quoted), encoding="utf-8")
    made = tmp_path / "report.html"
    assert main(["report", str(path), "-o", str(made)]) == 0
    browser.open(made, Look())
    assert browser.complaints == []
    assert browser.requests == []
    assert browser.value("document.images.length + document.scripts.length") == 1
    assert HOSTILE in str(browser.value("document.body.innerText"))
