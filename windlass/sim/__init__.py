"""The production engine in one process, under a seed: time is a number, chance is a seed."""
