"""What is claimed about speed and memory, each claim against a floor or a peer measured in the same run.

``python -m benchmarks [CASE...] [--rows N] [--reps N] [--json]``. A case is a module with ``run(scale) -> list[Row]``.
Subjects take turns within a repetition, so that what else the machine does meets all of them; results are compared
before times are.
"""
