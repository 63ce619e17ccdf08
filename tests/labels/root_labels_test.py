# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The check itself fails for wrong labels."""

import pathlib
import tempfile
import unittest

import root_labels

DEMANDS_ROOT = 'import os\ndef as_root():\n    assert os.geteuid() == 0, "run as root"\n'


def complaints(label, text, beside=""):
    """Returns the complaints about a folder with one test, and with the module `fixtures` beside it."""
    with tempfile.TemporaryDirectory() as directory:
        folder = pathlib.Path(directory)
        (folder / "CMakeLists.txt").write_text(f"integration_test(one{label})\n")
        (folder / "test_one.py").write_text(text)
        (folder / "fixtures.py").write_text(beside)
        return list(root_labels.complaints(folder))


class RootLabels(unittest.TestCase):
    def test_a_test_that_needs_root_and_has_no_label_is_found(self):
        for text in (
            DEMANDS_ROOT,
            "def test(daemon):\n    daemon.cli('stats', user=65534)\n",
            "def test(make):\n    make(uid=ALICE)\n",
            "import os\ndef test(place):\n    os.chown(place, 1, 1)\n",
        ):
            found = complaints("", text)
            self.assertEqual(len(found), 1, text)
            self.assertIn("integration_test(one) lacks ROOT: test_one.py:", found[0])
            self.assertEqual(complaints(" ROOT TIMEOUT 600", text), [])

    def test_a_demand_in_an_imported_fixture_is_found(self):
        text = "from fixtures import as_root\n"
        self.assertIn("lacks ROOT: fixtures.py:3", complaints("", text, beside=DEMANDS_ROOT)[0])
        self.assertEqual(complaints(" ROOT", text, beside=DEMANDS_ROOT), [])

    def test_a_test_that_any_user_can_run_needs_no_label(self):
        for text in (
            "def test(daemon):\n    daemon.cli('stats', user=None)\n",
            "import os\ndef test(d):\n    user = 1 if os.geteuid() == 0 else None\n    d.cli('stats', user=user)\n",
        ):
            self.assertEqual(complaints("", text), [])
            self.assertEqual(complaints(" ROOT", text), ["integration_test(one) has ROOT and needs it for nothing"])


if __name__ == "__main__":
    unittest.main()
