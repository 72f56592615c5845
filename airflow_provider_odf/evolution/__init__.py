"""Edits of a manifest: the blocks that they append to a dataset's chain, and edits that the dataset refuses.

`changes` compares a manifest with the chain, `compatibility` and `columns` find refused edits, `plan` combines both for
`odf plan`, and `apply` appends the blocks. An edit that only data can check waits for data, see `pending`.
"""
