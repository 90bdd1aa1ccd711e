"""The graph form of documents: a list of `nodes` and a list of `edges`, as seed 000 has them.

A graph means a document of steps, and that is what is checked and run; what was written is kept as it is.

    nodes that handle rows, joined by edges  ──►  one step of kind pipeline, of which they are the stages
    any other node                           ──►  a step of its own
    an edge that no rows flow along          ──►  an entry in `needs`
"""

from __future__ import annotations

from windlass.core.graph.drawn import from_steps
from windlass.core.graph.meaning import Meant, is_graph, meant, to_steps

__all__ = ["Meant", "from_steps", "is_graph", "meant", "to_steps"]
