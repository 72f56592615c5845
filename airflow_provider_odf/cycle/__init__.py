"""One cycle of a root dataset as plain functions: apply the manifest, poll, merge, test, publish.

Operators call them one by one, each in a task of its own, and hand the results on as JSON; ``odf run`` calls them in
a row (`run.Cycle`). Nothing here knows Airflow, and Spark only through a `Runner`.

Every step may be cut off at any point and run again. New blocks and data are files under the hash of their content,
unseen until a ref points at them; a merge first moves a ref of its own, ``candidate-KEY``, where the key says what
was merged onto what, so that a repeated merge finds the candidate it already made. ``head`` moves by compare-and-set:
to new metadata when the manifest is applied, or in the merge for a source that waited for data, and to new data in
`publish` alone.
"""
