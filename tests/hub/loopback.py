"""A Hub of a few files on this machine, with traps: answers that the real one, a mirror or a proxy may give one day."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34
_SHOWN = (".safetensors", ".gguf")


class Reply(NamedTuple):
    """An answer: ``cut`` bytes of the body are sent before the line breaks, ``pause_s`` lies between the headers and the body."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}
    cut: int | None = None
    pause_s: float = 0
    slow_bytes_s: float = 0
    hang_up: bool = False


Change = Callable[[Reply], Reply]


class Asked(NamedTuple):
    """A request that came: ``client`` is the connection's other end."""

    path: str
    headers: Mapping[str, str]
    client: tuple[str, int]


class Trap(NamedTuple):
    """Changes the answer to requests whose path holds ``part``, ``times`` times."""

    part: str
    change: Change
    times: int


class Loopback:
    """``repos`` maps an id to its files; ``names`` old ids to new ones; large files lie at ``store_url``, another origin."""

    def __init__(self, url: str, store_url: str) -> None:
        self.url, self.store_url = url, store_url
        self.repos: dict[str, dict[str, bytes]] = {}
        self.names: dict[str, str] = {}
        self.refusals: dict[str, Reply] = {}
        self.traps: list[Trap] = []
        self.asked: list[Asked] = []
        self.ranges = True
        self.closing = threading.Event()

    def trap(self, part: str, change: Change, *, times: int = 1) -> None:
        """The next requests for ``part`` are answered otherwise."""
        self.traps.append(Trap(part, change, times))

    def paths(self, part: str = "") -> list[str]:
        """Paths asked for that hold ``part``."""
        return [asked.path for asked in self.asked if part in asked.path]

    def answer(self, path: str, wanted: str | None) -> Reply:
        """What the Hub says, traps included. ``wanted`` is the Range header."""
        reply = self._whole(unquote(urlsplit(path).path))
        for i, trap in enumerate(self.traps):
            if trap.part in path and trap.times:
                self.traps[i] = trap._replace(times=trap.times - 1)
                reply = trap.change(reply)
                break
        if wanted and self.ranges and reply.status == 200:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(int(last) + 1, len(reply.body))
            place = {"Content-Range": f"bytes {start}-{stop - 1}/{len(reply.body)}"}
            reply = reply._replace(status=206, body=reply.body[start:stop], headers={**place, **reply.headers})
        return reply

    def _whole(self, path: str) -> Reply:
        for old, new in self.names.items():
            if f"/{old}/" in f"{path}/":
                return Reply(307, headers={"Location": path.replace(old, new)})
        if path in self.refusals:
            return self.refusals[path]
        api, _, rest = path.partition("/api/models/")
        if not api and rest:
            repo_id, _, revision = rest.partition("/revision/")
            return self._listing(repo_id, revision or "main")
        repo_id, _, at = path.strip("/").partition("/resolve/")
        if not at:
            repo_id, _, name = path.removeprefix("/store/").partition("//")
            return Reply(body=self.repos[repo_id][name])
        return self._file(repo_id, at.partition("/")[2])

    def _listing(self, repo_id: str, revision: str) -> Reply:
        if repo_id not in self.repos:
            return no_repo()
        if revision not in ("main", COMMIT):
            return refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        siblings = [{"rfilename": name, "size": len(body)} for name, body in self.repos[repo_id].items()]
        return Reply(body=json.dumps({"id": repo_id, "sha": COMMIT, "siblings": siblings}).encode())

    def _file(self, repo_id: str, name: str) -> Reply:
        files = self.repos.get(repo_id, {})
        if name not in files:
            return refusal(404, "EntryNotFound", "Entry not found")
        if name.endswith(_SHOWN):
            return Reply(302, headers={"Location": f"{self.store_url}/store/{repo_id}//{name}"})
        return Reply(body=files[name], headers={"X-Repo-Commit": COMMIT})


def refusal(status: int, code: str = "", message: str = "", **headers: str) -> Reply:
    """An answer with the headers that tell why; ``headers`` have _ for -."""
    said = {"X-Error-Code": code, "X-Error-Message": message, **{key.replace("_", "-"): value for key, value in headers.items()}}
    body = json.dumps({"error": message}).encode()
    return Reply(status, body, {key: value for key, value in said.items() if value})


def no_repo() -> Reply:
    """As the Hub answers who sends no token, for what is missing and for what is private."""
    return refusal(401, "", "Invalid username or password.")


@contextmanager
def serving() -> Iterator[Loopback]:
    """The Hub and its store, each at a port of its own."""
    servers = [_Server(("127.0.0.1", 0), _Handler) for _ in range(2)]
    urls = [f"http://127.0.0.1:{server.server_address[1]}" for server in servers]
    hub = Loopback(*urls)
    threads = [threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}) for server in servers]
    for server, thread in zip(servers, threads, strict=True):
        server.hub = hub  # type: ignore[attr-defined]  # read by the handler
        thread.start()
    yield hub
    hub.closing.set()
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """The other end has enough."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        hub: Loopback = self.server.hub  # type: ignore[attr-defined]  # set by serving
        hub.asked.append(Asked(self.path, {key.lower(): value for key, value in self.headers.items()}, self.client_address))
        reply = hub.answer(self.path, self.headers.get("Range"))
        if not reply.hang_up:
            try:
                self._send(reply, hub)
            except OSError:  # the other end has enough
                self.close_connection = True
        if reply.hang_up or reply.cut is not None or reply.pause_s:
            self.close_connection = True

    def _send(self, reply: Reply, hub: Loopback) -> None:
        self.send_response(reply.status)
        for key, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.flush()
        hub.closing.wait(reply.pause_s)
        body = reply.body if reply.cut is None else reply.body[: reply.cut]
        step = 64 if reply.slow_bytes_s else 2**16
        for at in range(0, len(body), step):
            self.wfile.write(body[at : at + step])
            if reply.slow_bytes_s:
                time.sleep(step / reply.slow_bytes_s)
