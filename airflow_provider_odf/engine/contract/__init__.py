"""Test data contracts on frames.

`check_kinds` is the table of the kinds of checks, `rows` the rows that a model is tested on, `scan` the passes over
them, and `report` makes the report. `history` tests candidates of datasets, `sources` files and tables outside of
datasets.
"""
