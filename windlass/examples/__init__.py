"""Workflows to start with. `windlass up --examples` registers them all; none of them needs a network."""
