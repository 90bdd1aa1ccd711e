"""A server for the tests that stop it, and its processes: never the one that TEST_DATABASE_URL names."""

import itertools
import os
import shutil
from collections.abc import Iterator

import pytest

from tests import postgres
from windlass.own_postgres import NoPostgres, OwnPostgres
from windlass.postgres import Place

_numbers = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[OwnPostgres]:
    folder = postgres.folder()
    try:
        with OwnPostgres(folder, fsync=False) as running:
            yield running
    except NoPostgres as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def place(server: OwnPostgres) -> Place:
    return Place(server.url(), f"test_{next(_numbers)}")
