"""Edits of a manifest: what they append to a dataset's chain, and which of them the dataset refuses.

`changes` compares a manifest with the chain, `compatibility` and `columns` say what is refused, `plan` puts both
together for `odf plan`, and `apply` appends it. An edit that only data can check waits for them, see `pending`.
"""
