"""Contract reports as assertions of DataHub. Needs the extra ``datahub``; the package imports it only to send."""
