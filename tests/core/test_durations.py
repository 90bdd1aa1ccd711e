import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("500ms", 0.5),
        ("20s", 20),
        ("2m", 120),
        ("1h", 3600),
        ("1h30m", 5400),
        ("1d", 86_400),
        ("1w", 604_800),
        ("1w2d3h4m5s6ms", 788_645.006),
        ("1.5h", 5400),
        ("0s", 0),
        ("20", 20),
        ("0.25", 0.25),
        (20, 20),
        (0.25, 0.25),
        (0, 0),
    ],
)
def test_a_duration_is_read_as_people_write_it(text: str | float, seconds: float) -> None:
    assert durations.parse(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "20 sec", "s", "5x", "-5s", "1m1h", "1s1s", "1.s", ".5s", "٣s", " 1s", "1e3s", "NaN"]
)
def test_what_is_no_duration_is_refused_with_advice(text: str) -> None:
    with pytest.raises(ValueError) as refusal:
        durations.parse(text)
    assert str(refusal.value) == f"{text!r} is no duration; write e.g. 500ms, 20s, 2m, 1h30m, 1d"


@pytest.mark.parametrize(
    "value",
    [True, False, None, [], {}, -1, -0.5, float("nan"), float("-inf"), pytest.param(-(10**5000), id="huge")],
)
def test_other_values_are_no_durations(value: object) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        durations.parse(value)


@pytest.mark.parametrize(
    "value", ["3651d", "9" * 400 + "w", pytest.param(10**5000, id="huge"), float("inf"), 315_360_001]
)
def test_ten_years_are_the_longest_duration(value: object) -> None:
    assert durations.parse("3650d") == durations.SECONDS_MAX
    with pytest.raises(ValueError, match="too long"):
        durations.parse(value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (604_800, "1w"),
        (0.5, "500ms"),
        (20, "20s"),
        (90, "90s"),
        (5400, "90m"),
        (3661, "3661s"),
        (86_400, "1d"),
    ],
)
def test_the_shortest_text_is_shown(seconds: float, text: str) -> None:
    assert durations.show(seconds) == text


@given(st.floats(min_value=0, max_value=durations.SECONDS_MAX))
def test_what_is_shown_is_read_back_exactly(seconds: float) -> None:
    assert durations.parse(durations.show(seconds)) == seconds


@given(st.integers(min_value=0, max_value=int(durations.SECONDS_MAX) * 1000))
def test_whole_milliseconds_are_shown_in_whole_numbers(ms: int) -> None:
    assert "." not in durations.show(ms / 1000)


@given(st.text() | st.from_regex(r"([0-9.]+(ms|[smhdw])){1,4}", fullmatch=True))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert 0 <= durations.parse(text) <= durations.SECONDS_MAX
    except ValueError as refusal:
        assert len(str(refusal)) < 1_500


@pytest.mark.parametrize("seconds", [-1, durations.SECONDS_MAX * 2, float("nan")])
def test_what_is_no_duration_cannot_be_shown(seconds: float) -> None:
    with pytest.raises(ValueError, match="no duration"):
        durations.show(seconds)
