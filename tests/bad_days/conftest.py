"""One engine for all tests of a module that need none of their own, and somebody next door for each test."""

from collections.abc import Iterator

import pytest

from tests.bad_days.house import House, house


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("house")) as started:
        yield started
        assert started.engine.stop() == 0
    # What users do wrong is told to them, and is no news for whoever watches the engine.
    assert started.engine.err == []


@pytest.fixture
def neighbour(home: House) -> Iterator[str]:
    with home.neighbour() as run:
        yield run
