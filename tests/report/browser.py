"""A real Chromium without a window, spoken to over its pipe: no package and no socket is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

Json = dict[str, object]
_PATIENCE_S = 60.0
_LAUNCH = """
import fcntl, os, sys
theirs = [fcntl.fcntl(int(fd), fcntl.F_DUPFD, 10) for fd in sys.argv[1:3]]
os.dup2(theirs[0], 3)
os.dup2(theirs[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""The browser reads commands from descriptor 3 and answers on 4."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def program() -> str | None:
    """The browser of this machine, if it has one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Look(NamedTuple):
    """How a page is opened."""

    width: int = 1280
    dark: bool = False


class Browser:
    """One browser, one page at a time; ``complaints`` and ``requests`` are those since the last page was opened."""

    def __init__(self, profile: Path) -> None:
        found = program()
        assert found is not None
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
        command = (found, *flags, f"--user-data-dir={profile}", "about:blank")
        self._process = subprocess.Popen(
            (sys.executable, "-c", _LAUNCH, str(theirs_in), str(theirs_out), *command),
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest, self._last, self._session = b"", 0, ""
        self._events: list[Json] = []
        self.complaints: list[str] = []
        self.requests: list[str] = []

    def __enter__(self) -> "Browser":
        try:
            target = self.say("Target.createTarget", url="about:blank")["targetId"]
            self._session = str(self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.say(f"{domain}.enable")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser: it goes when its pipe is closed."""
        os.close(self._out)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)

    def open(self, page: Path, look: Look) -> None:
        self._events.clear()
        self.complaints.clear()
        self.requests.clear()
        self.say("Emulation.setDeviceMetricsOverride", width=look.width, height=900, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if look.dark else "light"}
        self.say("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.say("Page.navigate", url=page.as_uri())
        self._until(lambda: any(event["method"] == "Page.loadEventFired" for event in self._events))
        self.value("document.readyState")
        for event in self._events:
            self._note(event)
        self.requests.remove(page.as_uri())

    def _note(self, event: Json) -> None:
        said = event["params"]
        assert isinstance(said, dict)
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(said)[:500])

    def value(self, expression: str) -> object:
        """What an expression comes to in the page."""
        found = self.say("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        result = found["result"]
        assert isinstance(result, dict)
        return result.get("value")

    def picture(self) -> bytes:
        """All of the page, as PNG."""
        return base64.b64decode(str(self.say("Page.captureScreenshot", captureBeyondViewport=True, format="png")["data"]))

    def print(self) -> bytes:
        """The page as PDF, on A4."""
        return base64.b64decode(str(self.say("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69)["data"]))

    def say(self, method: str, **params: object) -> Json:
        """One command and its answer."""
        self._last += 1
        message: Json = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        found: list[Json] = []
        self._until(lambda: bool(found), lambda answer: found.append(answer) if answer.get("id") == self._last else None)
        assert "error" not in found[0], found[0]
        result = found[0]["result"]
        assert isinstance(result, dict)
        return result

    def _until(self, done: Callable[[], bool], seen: Callable[[Json], None] = lambda answer: None) -> None:
        """Read what the browser says until ``done``."""
        end = time.monotonic() + _PATIENCE_S
        while not done():
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            read = os.read(self._in, 2**20) if ready else b""
            if not read:
                raise TimeoutError("the browser says nothing")
            *whole, self._rest = (self._rest + read).split(b"\0")
            for text in whole:
                answer: Json = json.loads(text)
                seen(answer)
                if "method" in answer:
                    self._events.append(answer)
