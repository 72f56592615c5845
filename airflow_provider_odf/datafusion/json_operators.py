"""stub"""


def as_functions(query: str, number: int) -> str:
    return query
