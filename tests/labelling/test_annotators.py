"""Several annotators at once; tests/annotators.py lets more of them work for longer."""

from __future__ import annotations

from annotators import differences, run


def test_no_answer_is_wrong_lost_or_there_twice(tmp_path):
    done = run(tmp_path, annotators=5, seconds=60, most=8)
    assert done["wrong"] == []
    assert done["answers"] >= 5 * 8


def test_the_check_notices_what_is_missing_or_too_much(tmp_path):
    run(tmp_path, annotators=1, seconds=60, most=1)
    assert differences(tmp_path / "p.db", {}) != []
    assert "lost: 999" in differences(tmp_path / "p.db", {999: ("a", 1, ["O"], False)})
