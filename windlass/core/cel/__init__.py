"""The Common Expression Language over JSON values: strict, with positions, and bounded work.

`syntax` is what a text is read into, `parser` reads it, `meaning` turns it into functions, `functions` and
`times` are what can be called. Everything else uses `windlass.core.expr`.
"""
