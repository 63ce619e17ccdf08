# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Names that a program pastes (##) together, which no scan for whole names finds. The result is that of raw NVRTC in
each directory, even if a name becomes a number in the output."""

import os
import pathlib
import random
import re

import pytest
from conftest import PLACES, wait_for
from two_directories import check_each_directory, outcome_and_ptx, place, raw_ptx  # noqa: F401

PASTE = "#define C2(a, b) a##b\n#define C3(a, b) C2(a, b)\n"
HASH = """
__device__ constexpr unsigned long hash_of(const char* s) { unsigned long h = 7; while (*s) h = h * 31 + *s++; return h; }
"""
NAMES = ("__FILE__", "__BASE_FILE__", "__builtin_FILE")


@pytest.mark.parametrize("value", (
    "sizeof(C2(__FI, LE__))", "hash_of(C2(__FI, LE__))", "sizeof(C2(__BASE_, FILE__))",
    "hash_of(C2(__builtin_, FILE)())", "sizeof(C3(C2(__, FI), C2(LE, __)))",
    "sizeof(C3(C3(C2(_, _), C2(F, I)), C3(C2(L, E), C2(_, _))))",
))
def test_a_pasted_name_that_becomes_a_number_gives_the_output_of_raw_nvrtc(lasting, place, value):
    source = f"{PASTE}{HASH}__device__ unsigned long v = {value};\n"
    assert len(check_each_directory(lasting, place, source)) == 2


def test_a_static_assertion_over_a_pasted_name_holds_where_it_does_for_raw_nvrtc(lasting, place):
    program = place / "x" / "g.cu"
    program.write_text(f'{PASTE}static_assert(sizeof(C2(__FI, LE__)) == sizeof("{program}"), "");\n')
    assert outcome_and_ptx(lasting, program)[1] == raw_ptx(program)


@pytest.mark.parametrize("headers, source", (
    ({"h.h": PASTE + "__device__ unsigned long v = sizeof(C2(__FI, LE__));\n"}, '#include "h.h"\n'),
    ({"h.h": "#define ONE __FI\n"}, f'#include "h.h"\n{PASTE}__device__ unsigned long v = sizeof(C3(ONE, LE__));\n'),
    ({"h.h": "#define ONE __FI\n", "i.h": "#define TWO LE__\n"},
     f'#include "h.h"\n#include "i.h"\n{PASTE}__device__ unsigned long v = sizeof(C3(ONE, TWO));\n'),
), ids=("in a header", "of a header and the source", "of two headers"))
def test_parts_of_a_pasted_name_may_be_in_headers(lasting, place, headers, source):
    assert len(check_each_directory(lasting, place, source, headers=headers)) == 2


def test_a_pasted_name_of_the_program_is_right_with_precompiled_headers(make_daemon, place):
    daemon = make_daemon("--pch-memory-limit", "1GiB", roots=(PLACES.cuda13,)).start()
    (place / "x" / "h.h").write_text(PASTE + "constexpr unsigned long length = sizeof(C2(__BASE_, FILE__));\n")
    program = place / "x" / "f.cu"
    for value in range(4):
        program.write_text(f'#include "h.h"\n__device__ unsigned long v = length + {value};\n')
        assert outcome_and_ptx(daemon, program)[1] == raw_ptx(program)
        wait_for(lambda: daemon.stats()["preambles_total"] >= min(value, 1), "a preamble that is not kept")


@pytest.mark.parametrize("source, headers", (
    ("__device__ char t[] = C2(__TI, ME__);\n", {}),
    ("__device__ unsigned long t = hash_of(C3(C2(__, DA), C2(TE, __)));\n", {}),
    ('#include "h.h"\n__device__ char t[] = C3(ONE, ME__);\n', {"h.h": "#define ONE __TI\n"}),
), ids=("text", "number", "with a header"))
def test_a_program_that_pastes_a_time_is_not_kept(lasting, place, source, headers):
    for header, text in headers.items():
        (place / "x" / header).write_text(text)
    program = place / "x" / "f.cu"
    program.write_text(PASTE + HASH + source)
    for _ in range(2):
        assert outcome_and_ptx(lasting, program)[0] == "uncacheable"


def test_a_time_in_a_name_expression_is_not_kept(lasting, place):
    program = place / "x" / "f.cu"
    program.write_text(f"{PASTE}{HASH}template <unsigned long I> __global__ void k() {{}}\n")
    for expression in ("k<hash_of(__TIME__)>", "k<hash_of(C2(__TI, ME__))>"):
        assert outcome_and_ptx(lasting, program, "--name-expression", expression)[0] == "uncacheable"


class Puzzle:
    """A program that makes one of the names from pieces. Each piece comes in another way."""

    def __init__(self, rng):
        self.rng = rng
        self.options, self.macros, self.header = [], [], ""
        name = rng.choice(NAMES)
        cuts = sorted(rng.sample(range(1, len(name)), rng.randint(1, 5)))
        pieces = [name[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(name)])]
        operator = rng.choice(("##", "%:%:", " ## ", "/*x*/##\\\n"))
        self.macros.append(f"#define P2(a, b) a{operator}b\n#define P(a, b) P2(a, b)\n"
                           f"#define V2(a, ...) a{operator}__VA_ARGS__\n#define V(a, ...) V2(a, __VA_ARGS__)\n")
        made = self.tree([self.piece(index, text) for index, text in enumerate(pieces)])
        value = rng.choice(("sizeof({})", "hash_of({})", "(unsigned long)({})[{}[2] % 3]"))
        made = value.replace("{}", made + ("()" if name == "__builtin_FILE" else ""))
        self.source = (f'{HASH}#include "h.h"\n' + "".join(self.macros) +
                       f"__device__ constexpr unsigned long v = {made};\n"
                       "__global__ void k(unsigned long* p) { *p = v; }\n")

    def piece(self, index, text):
        way = self.rng.randrange(6)
        if way == 0:
            self.macros.append(f"#define M{index} {text}\n")
        elif way == 1:
            self.options.append(f"-DM{index}={text}")
        elif way == 2:
            self.header += f"#define M{index} {text}\n"
        elif way == 3 and len(text) > 1:
            return f"{text[:1]}\\\n{text[1:]}"
        elif way == 4:
            return f"/* {index} */ {text} /**/"
        else:
            return text
        return f"M{index}"

    def tree(self, pieces):
        while len(pieces) > 1:
            at = self.rng.randrange(len(pieces) - 1)
            pieces[at:at + 2] = [f"{self.rng.choice('PV')}({pieces[at]}, {pieces[at + 1]})"]
        return pieces[0]


@pytest.mark.parametrize("seed", range(int(os.environ.get("CCCL_CACHED_TEST_PUZZLES", "8"))))
def test_names_pasted_in_random_ways_give_the_output_of_raw_nvrtc(lasting, place, seed):
    puzzle = Puzzle(random.Random(seed))
    check_each_directory(lasting, place, puzzle.source, *puzzle.options, headers={"h.h": puzzle.header})


# Each macro pastes a piece of a name to its argument without using it as a value: attributes, names of its own macros,
# and arguments of __has_builtin.
HARMLESS = {"__location__", "_CCCL_CHECK_BUILTIN", "__loc_sc__", "_CCCL_OS", "_CCCL_ARCH", "NVTX_STR"}


@pytest.mark.parametrize("cuda", ("cuda12", "cuda13"))
def test_no_macro_of_the_toolchain_adds_a_part_of_a_name(cuda):
    """The daemon does not search the toolchain's own headers for pieces of names."""
    names = ("__DATE__", "__TIME__", "__TIMESTAMP__", "__FILE__", "__BASE_FILE__", "__builtin_FILE", "source_location",
             "assert", "__PRETTY_FUNCTION__")
    parts = {name[begin:end] for name in names for begin in range(len(name)) for end in range(begin + 1, len(name) + 1)}
    bringing = set()
    for header in (each for each in pathlib.Path(getattr(PLACES, cuda)).rglob("*") if "include" in each.parts and each.is_file()):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(errors="replace").replace("\\\n", " "), flags=re.S)
        for macro, parameters, body in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?([^\n]*##[^\n]*)", text, re.M):
            beside = re.findall(r"(\w+)[ \t]*##", body) + re.findall(r"##[ \t]*(\w+)", body)
            if (set(beside) & parts) - set(re.findall(r"\w+", parameters)):
                bringing.add(macro)
    assert bringing <= HARMLESS
