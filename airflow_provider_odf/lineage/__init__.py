"""Lineage: names of datasets and jobs, and facets of each task. Standard library only until events are created."""
