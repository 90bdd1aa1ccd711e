"""`python -m windlass` is the same as `windlass`."""

from windlass.cli import main

main(prog_name="windlass")
