# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The cache in the memory of a process is bounded."""

from cccl_cache._plugin.recent import Recent


def test_the_most_recently_used_entries_are_kept():
    recent = Recent(2)
    for key in "ab":
        assert recent.keep(key, key.upper()) == key.upper()
    assert recent.get("a") == "A"
    recent.keep("c", "C")
    assert [recent.get(key) for key in "abc"] == ["A", None, "C"]


def test_a_key_keeps_its_first_value_until_a_clear():
    recent = Recent(2)
    recent.keep("a", 1)
    assert recent.keep("a", 2) == 1
    recent.clear()
    assert recent.keep("a", 2) == 2
