"""The sandbox under control groups of version 2: on this machine if it has them, else in a virtual one."""
