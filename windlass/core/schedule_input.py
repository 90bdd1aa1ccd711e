"""Whether runs can begin with what the schedule of their document gives them.

Better known when the document is saved than at night, when the first of them is refused.
"""

from __future__ import annotations

from windlass.core import inputs
from windlass.core.definition import Definition
from windlass.core.errors import Invalid
from windlass.core.faults import Faults


def check(definition: Definition, faults: Faults) -> None:
    """One that is switched off may wait for what it needs."""
    timetable = definition.schedule
    if timetable is None or not timetable.enabled or definition.inputs is None:
        return
    try:
        inputs.filled(definition.inputs, timetable.input)
    except Invalid as error:
        for fault in error.faults:
            faults.add(f"/schedule{fault.pointer}", fault.message)
