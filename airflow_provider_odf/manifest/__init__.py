"""Manifests: from YAML to typed models, with the place of every error."""
