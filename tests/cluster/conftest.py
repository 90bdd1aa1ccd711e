"""What a test that failed shows besides: the last words of its nodes."""

from collections.abc import Generator

import pytest

from tests.cluster.machines import Cluster


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        for value in item.funcargs.values():
            if isinstance(value, Cluster):
                report.sections.append(("nodes", value.show()))
    return report
