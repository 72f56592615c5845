"""Data contracts: YAML to checks that the engine runs. See ``binding.bind`` for the whole way from a dataset to its
checks."""
