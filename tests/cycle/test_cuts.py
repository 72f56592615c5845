"""The state of a derivative depends on the input, not on how the input was cut into polls: with late and corrected
rows, event time that waits for the watermark, and derivatives of derivatives."""

import pytest

from .cut_examples import EXAMPLES as SMALL
from .cut_tokens import REWARDS_OF_TOKENS
from .cuts import Folder

pytestmark = pytest.mark.spark

CUTS = {"at once": [3], "one by one": [1, 1, 1], "mixed": [1, 2]}
"""Numbers of pieces that arrive together."""

LARGE = "rewards of tokens"
EXAMPLES = SMALL | {LARGE: REWARDS_OF_TOKENS}
CASES = [
    *((name, "mixed") for name in SMALL),
    *(pytest.param(name, cut, marks=pytest.mark.long) for name in SMALL for cut in ("at once", "one by one")),
    *(pytest.param(LARGE, cut, marks=pytest.mark.torture) for cut in CUTS),
]
"""The large example has five derivatives; `make torture` runs it."""


@pytest.mark.parametrize(("name", "cut"), CASES)
def test_the_state_is_the_same_for_all_cuts(tmp_path, engine, name, cut):
    example = EXAMPLES[name]
    folder = Folder(tmp_path, example, engine)
    rest = list(example.pieces)
    for count in CUTS[cut]:
        folder.add(*rest[:count])
        folder.run()
        rest = rest[count:]
    assert rest == []
    assert folder.states() == {name: sorted(rows, key=repr) for name, rows in example.states.items()}
    heads = folder.heads()
    folder.run()
    assert folder.heads() == heads
    if cut == "one by one":
        folder.replay()
