"""Engines that die in the middle: real processes, real signals, a real disk."""
