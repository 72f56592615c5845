"""Test data contracts on frames.

`judges` judges each clause by its row in `clauses`, `rows` are the rows that a model is tested on, `scan` the passes
over them, and `report` makes the report. `history` tests candidates of datasets, `sources` files and tables outside of
datasets.
"""
