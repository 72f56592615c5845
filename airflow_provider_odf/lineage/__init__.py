"""Lineage: names of datasets and jobs, and the facets that each task reports. Standard library only until events are
made."""
