"""How code did, by language: counted, spread, and what is usual."""

from windlass.engine.code_stats import LANGUAGES_MAX, OTHER, CodeStats


def test_what_ended_is_counted_by_language_and_status_and_what_ran_is_measured() -> None:
    stats = CodeStats()
    stats.note("python", "completed", 0.5)
    stats.note("python", "cancelled")
    stats.note("c", "failed", 2.0)
    assert stats.total == {("python", "completed"): 1, ("python", "cancelled"): 1, ("c", "failed"): 1}
    assert (sum(stats.spreads["python"].buckets), stats.spreads["python"].total) == (1, 0.5)


def test_what_is_usual_follows_what_was_measured_and_is_not_known_before() -> None:
    stats = CodeStats()
    assert stats.usual_s("python") is None
    stats.note("python", "completed", 1.0)
    assert stats.usual_s("python") == 1.0
    for _ in range(50):
        stats.note("python", "completed", 3.0)
    assert abs((stats.usual_s("python") or 0.0) - 3.0) < 0.01
    stats.note("python", "cancelled")
    assert abs((stats.usual_s("python") or 0.0) - 3.0) < 0.01


def test_languages_that_users_invent_do_not_fill_the_memory() -> None:
    stats = CodeStats()
    for n in range(2 * LANGUAGES_MAX):
        stats.note(f"l{n}", "completed", 1.0)
    assert len(stats.spreads) == LANGUAGES_MAX + 1
    assert stats.total[OTHER, "completed"] == LANGUAGES_MAX
