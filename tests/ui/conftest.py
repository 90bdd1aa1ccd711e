"""Pages as users meet them: a real `windlass up`, and a real browser.

    def test_a_run_can_be_cancelled(server: Server, page: Page) -> None: …

`server` has the address and a client of the API; `page` is empty, relative addresses lead to the server, and
an error in the page, or a request to anybody but its server, fails the test. `locked` is a server with a
login, `mortal` one that may be killed.
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

from tests.cli.engines import Engine, engine, environment, windlass
from tests.ui import browser as browsers
from windlass.sdk.client import Client


@dataclass
class Server:
    """`windlass up`, which can be killed and started again on the same port and data."""

    data: Path
    options: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    url: str = ""
    _stack: ExitStack = field(default_factory=ExitStack)
    engine: Engine | None = None

    @property
    def client(self) -> Client:
        return self._client

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        words = ("--data", str(self.data), "--json", "--port", port, *self.options)
        self.engine = self._stack.enter_context(engine(*words, cwd=self.data.parent, env=self.env))
        self.url = self.engine.ready()["url"]
        self._client = Client(self.url)
        self._stack.callback(self._client.close)

    def kill(self) -> None:
        """As a crash would."""
        assert self.engine is not None
        self.engine.process.kill()
        self.engine.wait()

    def close(self) -> None:
        self._stack.close()

    def token(self, role: str, *more: str) -> str:
        """A new one, made at the database itself."""
        words = [*windlass(), "token", "create", "--role", role, "--data", str(self.data), *more]
        done = subprocess.run(
            words,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            cwd=self.data.parent,
        )
        return done.stdout.strip().splitlines()[-1]


@contextmanager
def serving(data: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Server]:
    server = Server(data, options, env or {})
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one file: while it is open, its event loop is that of the whole process."""
    missing = browsers.lacking()
    if missing is not None:
        pytest.skip(missing)
    with browsers.browsing() as started:
        yield started


@pytest.fixture(scope="module")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all tests of a file: they give their workflows and runs names of their own."""
    with serving(tmp_path_factory.mktemp("server") / "data") as started:
        yield started


@pytest.fixture(scope="module")
def locked(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same with a login: `locked.token("read")` makes a token."""
    with serving(tmp_path_factory.mktemp("locked") / "data", "--login") as started:
        yield started


@pytest.fixture
def mortal(browser: Browser, tmp_path: Path) -> Iterator[Server]:
    """One for this test alone, which may kill it."""
    with serving(tmp_path / "data") as started:
        yield started


OpenPage = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser) -> Iterator[OpenPage]:
    """Makes pages: `opened(server.url, color_scheme="dark", locale="zh-CN")`."""
    pages: list[Page] = []
    said: list[str] = []

    def make(url: str, **options: object) -> Page:
        page = browsers.open_page(browser, url, **options)
        pages.append(page)

        def hear(message: ConsoleMessage) -> None:
            # What the server refuses the browser says itself, and pages show it.
            if message.type == "error" and not message.text.startswith("Failed to load resource"):
                said.append(message.text)

        def broke(error: Error) -> None:
            said.append(str(error))

        def ask(request: Request) -> None:
            if not request.url.startswith((f"{url}/", "data:", "blob:")):
                said.append(f"asks {request.url}, which is not its server")

        page.on("request", ask)
        page.on("console", hear)
        page.on("pageerror", broke)
        return page

    yield make
    for page in pages:
        page.context.close()
    assert not said, f"the page complains: {said}"


@pytest.fixture
def page(server: Server, opened: OpenPage) -> Page:
    return opened(server.url)
