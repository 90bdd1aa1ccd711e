"""Who may do what: the one table.

A role holds rights, a route needs one. A token is of one namespace, or of all of them (`*`); what concerns
all namespaces at once, such as the cluster, needs a token of all. An admin is always of all.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Role = Literal["admin", "operator", "submit", "read", "worker", "node"]
# open: needs nobody's leave. see: read what is there. start: begin runs. operate: change workflows, stop and
# free runs, keep secrets and webhooks. administer: tokens, the audit log, the nodes. work: run steps.
# link: be a node.
Right = Literal["open", "see", "start", "operate", "administer", "work", "link"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
EVERYWHERE: Final = "*"  # as the namespace of a token: all of them

RIGHTS: Final[dict[Role, frozenset[Right]]] = {
    "admin": frozenset({"open", "see", "start", "operate", "administer"}),
    "operator": frozenset({"open", "see", "start", "operate"}),
    "submit": frozenset({"open", "see", "start"}),
    "read": frozenset({"open", "see"}),
    "worker": frozenset({"open", "work"}),
    "node": frozenset({"open", "link"}),
}


def may(role: Role, right: Right) -> bool:
    # A newer program may have made a token with a role that this one does not know: it may nothing here.
    return right in RIGHTS.get(role, frozenset())


def holders(right: Right) -> list[Role]:
    """The roles that have it, the least powerful first."""
    return [role for role in reversed(ROLES) if right in RIGHTS[role]]


def within(namespace: str, asked: str) -> bool:
    """Whether a token of that namespace may speak of the one that is asked for."""
    return namespace in (EVERYWHERE, asked)
