"""One cycle of a root dataset as plain functions: apply the manifest, poll, merge, test, publish.

Operators call them one by one, each in a task of its own, and pass the results as JSON; ``odf run`` calls them one
after the other (`run.run`). Nothing here imports Airflow, and Spark runs behind a `Runner`.

Every step may be killed at any point and run again. New blocks and data are files named by the hash of their content.
Readers see them only once a ref leads to them. A merge first sets a ref ``candidate-KEY``; the key identifies the input
and the head, so a repeated merge finds the candidate that it already made. ``head`` moves by compare-and-set: to new
metadata when the manifest is applied, or in the merge for a source that waited for data, and to new data in `publish`
alone.
"""
