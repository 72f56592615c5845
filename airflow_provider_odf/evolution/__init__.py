"""Edits of a manifest: the blocks that they append to a dataset's chain, and edits that the dataset refuses.

`difference` compares a manifest with the chain, `plan` finds refused edits too, for `odf plan`, and `apply` appends the
blocks. An edit that only data can check waits for data.
"""
