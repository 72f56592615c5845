"""Data contracts: compile YAML to checks for the engine. ``binding.bind`` does all steps for a dataset."""
