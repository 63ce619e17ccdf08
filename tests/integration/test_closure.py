# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Files outside the toolchain. A change that affects an output gives a new build with the new output. Any other
change gives a hit. Both outputs are those of raw NVRTC."""

import contextlib
import json
import os
import shutil

import pytest
from conftest import PLACES
from raw import SEED, header_directories, raw, text_of

KERNEL = 'extern "C" __global__ void k(int* p) { *p = VALUE; }\n'
PROGRAM = "#include <value.h>\n" + KERNEL
BESIDE = '#include "value.h"\n' + KERNEL
ONE, TWO = "#define VALUE 7001\n", "#define VALUE 7002\n"


class Checkout:
    """A program, and headers in two directories that are searched one after the other."""

    def __init__(self, daemon, place):
        self.daemon = daemon
        self.place = place
        self.source = place / "src" / "k.cu"
        for name in ("src", "first", "second"):
            (place / name).mkdir()
        self.program(PROGRAM)

    def program(self, text):
        # The text differs from that of other tests' programs, because all tests share the cache.
        self.source.write_text(f"// {self.place}\n{text}")

    def write(self, **texts):
        """Writes first__value="..." to first/value.h."""
        for name, text in texts.items():
            self.header(name).write_text(text)

    def header(self, name):
        return self.place / (name.replace("__", "/") + ".h")

    def options(self):
        return [SEED, f"-I{self.place / 'first'}", f"-I{self.place / 'second'}"]

    def ask(self, *options, check=True):
        """Returns the answer, and the path of the PTX."""
        output = self.place / "out.ptx"
        done = self.daemon.cli(
            "--json", "build", str(self.source), "--arch", "sm_90", "--emit", "ptx", "-o", str(output),
            *(f"--option={option}" for option in (*self.options(), *options)), cwd=self.place, check=check,
        )
        return json.loads(done.stdout), output

    def build(self, *options):
        """Returns the outcome and the PTX."""
        told, output = self.ask(*options)
        return told["outcome"], text_of(output.read_bytes())

    def fail(self):
        """Returns whether the failure was remembered, and the log."""
        told, _ = self.ask(check=False)
        assert told["outcome"] == "failed", told
        return told["remembered"], told["log"]

    def raw(self, *options):
        """Returns the PTX of raw NVRTC."""
        toolchain = [f"-I{place}" for place in header_directories(self.daemon)]
        outputs = raw(
            kind="nvrtc", root=PLACES.cuda13, source=self.source.read_text(), name=str(self.source), cwd=self.place,
            options=["-arch=sm_90", *self.options(), *options, *toolchain],
        )
        return text_of(outputs["ptx"])


@pytest.fixture
def checkout(lasting, directory):
    return Checkout(lasting, directory)


def edit(checkout):
    checkout.write(second__value=ONE)
    yield
    checkout.write(second__value=TWO)


def edit_and_set_the_time_back(checkout):
    checkout.write(second__value=ONE)
    header = checkout.header("second__value")
    os.utime(header, (1_000_000_000, 1_000_000_000))
    yield
    header.write_text(TWO)
    os.utime(header, (1_000_000_000, 1_000_000_000))


def rename_over(checkout):
    checkout.write(second__value=ONE, second__new=TWO)
    yield
    checkout.header("second__new").rename(checkout.header("second__value"))


def edit_what_a_header_includes(checkout):
    checkout.write(first__value='#include "deep.h"\n', first__deep=ONE)
    yield
    checkout.write(first__deep=TWO)


def add_one_that_is_found_earlier(checkout):
    checkout.write(second__value=ONE)
    yield
    checkout.write(first__value=TWO)


def add_one_beside_the_source(checkout):
    checkout.program(BESIDE)
    checkout.write(second__value=ONE)
    yield
    checkout.write(src__value=TWO)


def add_one_beside_the_header_that_includes_it(checkout):
    checkout.write(first__value='#include "deep.h"\n', second__deep=ONE)
    yield
    checkout.write(first__deep=TWO)


def add_one_that_was_only_asked_for(checkout):
    checkout.program("#if __has_include(<value.h>)\n#include <value.h>\n#else\n" + ONE + "#endif\n" + KERNEL)
    yield
    checkout.write(first__value=TWO)


def add_the_directory_that_it_is_found_in(checkout):
    checkout.program("#include <sub/value.h>\n" + KERNEL)
    (checkout.place / "second" / "sub").mkdir()
    checkout.write(second__sub__value=ONE)
    yield
    (checkout.place / "first" / "sub").mkdir()
    checkout.write(first__sub__value=TWO)


def delete(checkout):
    checkout.write(first__value=ONE, second__value=TWO)
    yield
    checkout.header("first__value").unlink()


def point_a_symlink_elsewhere(checkout):
    checkout.write(one=ONE, two=TWO)
    link = checkout.header("first__value")
    link.symlink_to("../one.h")
    yield
    link.unlink()
    link.symlink_to("../two.h")


def point_a_directorys_symlink_elsewhere(checkout):
    for name, text in (("one", ONE), ("two", TWO)):
        (checkout.place / name).mkdir()
        (checkout.place / name / "value.h").write_text(text)
    link = checkout.place / "second"
    link.rmdir()
    link.symlink_to("one")
    yield
    link.unlink()
    link.symlink_to("two")


def replace_the_directory(checkout):
    checkout.write(second__value=ONE)
    (checkout.place / "new").mkdir()
    checkout.write(new__value=TWO)
    yield
    (checkout.place / "second").rename(checkout.place / "old")
    (checkout.place / "new").rename(checkout.place / "second")


def make_a_hard_link_a_copy(checkout):
    """Makes a hard link a copy. Names and bytes stay, but #pragma once treats only hard links as one file."""
    text = "#pragma once\n#ifdef VALUE\n#undef VALUE\n#define VALUE 7002\n#else\n#define VALUE 7001\n#endif\n"
    checkout.program('#include "a.h"\n#include "b.h"\n' + KERNEL)
    checkout.write(src__a=text)
    os.link(checkout.header("src__a"), checkout.header("src__b"))
    yield
    checkout.header("src__b").unlink()
    checkout.write(src__b=text)


@pytest.mark.parametrize("change", (
    edit, edit_and_set_the_time_back, rename_over, edit_what_a_header_includes, add_one_that_is_found_earlier,
    add_one_beside_the_source, add_one_beside_the_header_that_includes_it, add_one_that_was_only_asked_for,
    add_the_directory_that_it_is_found_in, delete, point_a_symlink_elsewhere, point_a_directorys_symlink_elsewhere,
    replace_the_directory, make_a_hard_link_a_copy,
), ids=lambda change: change.__name__)
def test_after_a_change_the_next_build_is_compiled_with_the_new_output(checkout, change):
    with contextlib.contextmanager(change)(checkout):
        outcome, before = checkout.build()
        assert outcome == "built"
        assert b"7001" in before
        assert checkout.build() == ("hit", before)
    outcome, after = checkout.build()
    assert outcome == "built"
    assert b"7002" in after
    assert b"7001" not in after
    assert after == checkout.raw()
    assert checkout.build() == ("hit", after)


def touch(checkout):
    os.utime(checkout.header("second__value"))


def date_into_the_future(checkout):
    os.utime(checkout.header("second__value"), (4_000_000_000, 4_000_000_000))


def rewrite_the_same_bytes(checkout):
    checkout.write(second__value=ONE)


def replace_by_a_copy(checkout):
    shutil.copy(checkout.header("second__value"), checkout.header("second__new"))
    checkout.header("second__new").rename(checkout.header("second__value"))


def replace_by_a_symlink(checkout):
    checkout.header("second__value").rename(checkout.header("elsewhere"))
    checkout.header("second__value").symlink_to("../elsewhere.h")


def replace_the_directory_by_a_copy(checkout):
    shutil.copytree(checkout.place / "second", checkout.place / "new")
    shutil.rmtree(checkout.place / "second")
    (checkout.place / "new").rename(checkout.place / "second")


def add_and_change_what_is_not_asked_for(checkout):
    checkout.write(first__other=TWO, second__other=TWO, src__value=TWO)


def change_and_change_back(checkout):
    checkout.write(second__value=TWO)
    assert checkout.build()[0] == "built"
    checkout.write(second__value=ONE)


@pytest.mark.parametrize("change", (
    touch, date_into_the_future, rewrite_the_same_bytes, replace_by_a_copy, replace_by_a_symlink,
    replace_the_directory_by_a_copy, add_and_change_what_is_not_asked_for, change_and_change_back,
), ids=lambda change: change.__name__)
def test_a_change_that_affects_no_read_byte_is_a_hit(checkout, change):
    checkout.write(second__value=ONE)
    outcome, before = checkout.build()
    assert outcome == "built"
    change(checkout)
    assert checkout.build() == ("hit", before)


def test_a_program_that_does_not_compile_is_not_tried_again_until_one_of_its_headers_changes(checkout):
    first_time, log = checkout.fail()
    assert not first_time
    assert "value.h" in log
    assert checkout.fail() == (True, log)
    checkout.write(second__value="#error of the second\n")
    first_time, log = checkout.fail()
    assert not first_time
    assert f'{checkout.header("second__value")}(1)' in log
    assert checkout.fail() == (True, log)
    checkout.write(first__value=ONE)
    outcome, output = checkout.build()
    assert outcome == "built"
    assert output == checkout.raw()
