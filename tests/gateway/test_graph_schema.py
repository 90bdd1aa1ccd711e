"""The JSON Schema takes every graph that the core takes."""

import random
from typing import Any

import pytest
from hypothesis import given as drawn
from jsonschema_rs import Draft202012Validator

from tests.core.graphs import IN_THE_WILD, SQL, Document, any_graph, graph, node
from tests.core.test_graph import almost_graphs
from windlass.core import document
from windlass.core.errors import Invalid
from windlass.gateway import document_schema

ODD: dict[str, Any] = {
    "id": "w",
    "nodes": [{"id": 1, "nodeType": "noop", "label": 3, "position": "left", "style": 1}],
}
ODD |= {"name": 1, "description": None, "author": [], "tags": "none", "metadata": "none", "version": {}}
VALIDATOR = Draft202012Validator(document_schema.schema())


@pytest.mark.parametrize(
    "given", [*IN_THE_WILD.values(), SQL, ODD, *(any_graph(random.Random(seed), "w") for seed in range(5))]
)
def test_graphs_that_were_seen_fit(given: Document) -> None:
    assert VALIDATOR.is_valid(given)


@drawn(almost_graphs)
def test_whatever_graph_the_core_takes_fits(given: Document) -> None:
    try:
        document.read(given)
    except Invalid:
        return
    assert VALIDATOR.is_valid(given)


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": []},
        {"id": "w", "nodes": {}},
        graph(node("", "noop")),
        graph({"nodeType": "noop"}),
        {**graph(), "edges": [{"target": "a"}]},
        {**graph(), "metadata": {"schedule": "daily"}},
        {**graph(), "windlass": 3},
    ],
)
def test_what_an_editor_can_see_it_sees(given: Document) -> None:
    assert not VALIDATOR.is_valid(given)
