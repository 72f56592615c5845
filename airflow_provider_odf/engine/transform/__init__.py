"""Transforms of derivative datasets: the query over the current rows of the inputs, evaluated for what is new.

``transform`` runs a request. ``plan_tree`` reads Spark's analyzed plan, ``determinism`` refuses queries whose result is
not a function of their rows, ``row_keys`` finds the keys by which a result can be computed in parts, and ``analysis``
chooses the form: row-wise, keyed or whole. ``inputs`` has the rows that a query reads, ``row_wise`` and ``keyed``
evaluate it, and ``difference`` compares the result with the present rows.
"""
