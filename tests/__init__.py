"""The proofs of Windlass: a test's name is a sentence; `make acceptance` shows what each one proves."""
