"""How fast it is, beside what the disk allows: `python -m bench [--quick] [NAME…]`.

A benchmark, not a test: nothing here fails because a machine is slow. Every rate stands beside the ceiling of
the store, measured in the same minute on the same disk, because only the ratio of the two travels.
"""
