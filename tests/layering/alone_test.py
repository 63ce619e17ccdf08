# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The check itself fails for wrong files."""

import json
import pathlib
import tempfile
import unittest

import alone


class Alone(unittest.TestCase):
    def test_a_file_that_depends_on_the_includes_of_another_is_found(self):
        root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (root / "base").mkdir()
        (root / "base/size.h").write_text("#pragma once\nusing Size = unsigned long;\n")
        (root / "base/first.cc").write_text('#include "base/size.h"\n')
        (root / "base/sound.cc").write_text('#include "base/size.h"\nSize sound;\n')
        (root / "base/broken.cc").write_text("Size broken;\n")
        unity = root / "unity_0_cxx.cxx"
        files = [root / f"base/{name}.cc" for name in ("first", "sound", "broken")]
        unity.write_text("".join(f'#include "{file}"\n\n' for file in files))
        (root / "compile_commands.json").write_text(json.dumps(
            [{"file": str(unity), "command": f"c++ -I{root} -o unity.o -c {unity}", "directory": str(root)}]))
        commands = dict(alone.commands(root, root))
        self.assertEqual(sorted(commands), sorted(files[1:]))
        self.assertIsNone(alone.complaint(files[1], commands[files[1]], root))
        self.assertIn("broken.cc does not compile alone", alone.complaint(files[2], commands[files[2]], root))
        self.assertFalse((root / "unity.o").exists())


if __name__ == "__main__":
    unittest.main()
