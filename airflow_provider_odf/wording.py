"""How messages say a number of things."""


def counted(number: int, noun: str) -> str:
    """A number with its noun: ``1 record``, ``1,200 records``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
