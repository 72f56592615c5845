import pytest

from airflow_provider_odf.ui.charts import COUNT, SECONDS, Chart, Series, round_step


def chart(*series, units=COUNT, is_line=False):
    labels = tuple(f"t{n}" for n in range(len(series[0])))
    return Chart("c", "t", "d", labels, tuple(Series(f"s{n}", "x", s) for n, s in enumerate(series)), units, is_line)


@pytest.mark.parametrize(
    ("span", "step"), [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (21, 10), (1_000_000, 500_000)]
)
def test_steps_of_counts(span, step):
    assert round_step(span, is_whole=True) == step


def test_stacked_bars_share_one_axis():
    drawing = chart((3, 0, None), (1, 2, None))
    assert [tick.text for tick in drawing.ticks] == ["0", "1", "2", "3", "4"]
    assert [(bar.y, bar.height, bar.title) for bar in drawing.bars] == [
        (51.5, 112.5, "t0: s0 3"),
        (14.0, 37.5, "t0: s1 1"),
        (89.0, 75.0, "t1: s1 2"),
    ]


def test_units_follow_the_highest_number():
    assert chart((30.0, 119.0), units=SECONDS).unit.name == "seconds"
    assert chart((30.0, 7200.0), units=SECONDS).unit.name == "hours"
    assert [t.text for t in chart((0.5,), units=SECONDS).ticks] == ["0", "1"]


def test_a_line_ends_where_a_number_is_unknown_and_may_be_below_zero():
    drawing = chart((-120.0, 0.0, None, 240.0), units=SECONDS, is_line=True)
    assert [tick.text for tick in drawing.ticks] == ["-2", "0", "2", "4"]
    assert [path for _, path in drawing.paths] == ["M157.0 164.0 L327.0 114.0", "M667.0 14.0"]
    assert [point.title for point in drawing.points] == ["t0: s0 -2 minutes", "t1: s0 0 minutes", "t3: s0 4 minutes"]


def test_without_numbers():
    assert chart((None, None)).is_empty
    assert chart(()).is_empty
    assert [tick.text for tick in chart((0, 0)).ticks] == ["0", "1"]
