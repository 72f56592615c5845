"""Manifests inferred from samples of a source, for ``odf new``."""
