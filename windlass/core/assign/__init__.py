"""Which worker runs a task: a filter, then a key; the smallest key wins, and the earlier worker wins a tie.

`policy` says what is wanted, `filters` who may, `keys` who is better; `index` finds the winner among many
without asking each of them, and `adaptive` changes the strategy by rules.
"""
