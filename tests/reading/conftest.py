from tests.chain.conftest import foreign, grow, store

__all__ = ["foreign", "grow", "store"]
