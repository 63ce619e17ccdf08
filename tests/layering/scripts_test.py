# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Every script answers --help, and refuses an unknown word before it installs or builds anything."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file() and os.access(path, os.X_OK))
# Each script that installs, builds or runs anything first calls one of these programs.
STANDINS = ("apt-get", "clang-format-14", "cmake", "ctest", "dpkg-query", "git", "sudo")


class Scripts(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in STANDINS:
            (self.place / name).write_text(f"#!/bin/sh\necho {name} >>{self.place}/begun\nexit 1\n")
            (self.place / name).chmod(0o755)

    def run_script(self, script, *words):
        begun = self.place / "begun"
        begun.unlink(missing_ok=True)
        done = subprocess.run([script, *words], capture_output=True, text=True, check=False, timeout=50,
                              env={**os.environ, "PATH": f"{self.place}:{os.environ['PATH']}"})
        self.assertFalse(begun.exists(), f"{script.name} {' '.join(words)} begins to install, or to build")
        return done

    def test_every_script_prints_its_help(self):
        for script in SCRIPTS:
            with self.subTest(script.name):
                done = self.run_script(script, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"scripts/{script.name}", done.stdout)

    def test_every_script_refuses_an_unknown_word(self):
        for script in SCRIPTS:
            with self.subTest(script.name):
                done = self.run_script(script, "--no-such-word")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--help" if "usage" not in done.stderr else "usage", done.stderr)

    def test_a_value_that_an_option_does_not_take_is_refused(self):
        done = self.run_script(ROOT / "scripts/bench", "--quick", "--only", "hits", "--only", "no-such-part")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for word in ("first", "no-such-part", "--help"):
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main()
