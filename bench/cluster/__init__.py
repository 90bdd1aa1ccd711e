"""How fast a cluster is: `python -m bench.cluster [--quick] [NAME…]`.

Real nodes over a real PostgreSQL that syncs to disk, all on this machine. A machine has few cores, and nodes
that share them would only take them from each other; so each node is held to a small share of one core, and
what is added with a node is that share.
"""
