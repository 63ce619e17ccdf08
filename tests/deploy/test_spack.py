# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The recipe for Spack, checked without Spack: its Python syntax, and its options and dependencies against CMake's."""

import os
import pathlib
import re

from conftest import DEPLOY, ROOT

RECIPE = (DEPLOY / "spack/package.py").read_text()
# Packages that have other names in cmake/Dependencies.cmake than in Spack.
NAMES = {"hogweed": "nettle", "seccomp": "libseccomp", "event": "libevent", "curses": "ncurses", "nlohmann_json": "nlohmann-json"}
# Parts of the C library.
WITHOUT_PACKAGE = {"threads"}


def test_the_spack_package_is_valid_python():
    compile(RECIPE, "package.py", "exec")


def test_each_option_exists_in_cmake():
    cache = (pathlib.Path(os.environ["CCCL_CACHED_TEST_BUILD"]) / "CMakeCache.txt").read_text()
    options = re.findall(r'self\.define\("(\w+)"', RECIPE)
    assert options
    for option in options:
        assert re.search(f"^{option}:", cache, re.M), option


def test_each_package_that_cmake_finds_is_a_dependency():
    text = (ROOT / "cmake/Dependencies.cmake").read_text()
    asked = re.findall(r"^(?:find_package|pkg_check_modules)\((\w+)|^client_archive\(\w+ (?:lib)?(\w+)|^client_(curses)\(", text, re.M)
    found = {name.lower() for names in asked for name in names if name} - WITHOUT_PACKAGE
    dependencies = set(re.findall(r'depends_on\("([\w-]+)', RECIPE))
    assert len(found) > 10
    assert {NAMES.get(name, name) for name in found} - {"pkgconfig"} <= dependencies
