# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Assertions in headers. The output contains the path of a live assertion. In each directory, the result of a program is
that of raw NVRTC."""

import os
import random

import pytest
from two_directories import check_each_directory, place  # noqa: F401

LIVE = "__device__ inline int f(int i) { assert(i > 0); return i; }\n"
DEAD = "template <class T> __device__ inline int f(T i) { assert(sizeof(T) == 4); return i; }\n"
CALLS = '#include "h.h"\nextern "C" __global__ void k(unsigned long* p, int i) { *p = f(i); }\n'
LITERAL = "#define S(x) #x\n#define X(x) S(x)\n"
LENGTH = """__device__ unsigned long n;
__device__ inline void NAME(const char*, const char* file, unsigned, const char*, size_t) {
  unsigned long length = 0;
  while (file[length]) ++length;
  n = length;
}
"""


def test_a_live_assertion_in_a_header_shows_the_headers_path(lasting, place):  # noqa: F811
    assert len(check_each_directory(lasting, place, CALLS, headers={"h.h": LIVE})) == 2


def test_a_program_over_a_header_with_dead_assertions_is_the_same_in_all_directories(lasting, place):  # noqa: F811
    compiles = lasting.stats()["compiles_total"]
    given_up = lasting.stats()["given_up_total"]
    assert len(check_each_directory(lasting, place, CALLS, headers={"h.h": DEAD})) == 1
    assert lasting.stats()["compiles_total"] == compiles + 1
    assert lasting.stats()["given_up_total"] == given_up


@pytest.mark.parametrize("headers, source", (
    ({"h.h": LITERAL + "__device__ inline int f(int) { return sizeof(X(assert(1))); }\n"}, CALLS),
    ({"h.h": LITERAL + "#define BODY assert(1)\n__device__ inline int f(int) { return sizeof(X(BODY)); }\n"}, CALLS),
    ({"h.h": "#define BODY assert(1)\n"}, f"{LITERAL}__device__ int f(int) {{ return sizeof(X(BODY)); }}\n{CALLS}"),
    ({"h.h": "#define CALL(f) X(f(1))\n"},
     f'{LITERAL}#define A(x) assert x\n__device__ int f(int) {{ return sizeof(X(A((1)))); }}\n{CALLS}'),
    ({"h.h": "assert(1)\n"},
     LITERAL + 'extern "C" __global__ void k(int* p) { *p = sizeof(X(\n#include "h.h"\n)); }\n'),
    ({"h.h": "BEGIN assert(1)); }\n"},
     f'{LITERAL}#define BEGIN sizeof X(\nextern "C" __global__ void k(unsigned long* p) {{ *p =\n#include "h.h"\n'),
    ({"h.h": "namespace n {\n" + LENGTH.replace("NAME", "__assertfail") + LIVE + "}\nusing n::f;\n"}, CALLS),
    ({"h.h": "#define C2(a, b) a##b\nnamespace n {\n" + LENGTH.replace("NAME", "C2(__assert, fail)") + LIVE +
      "}\nusing n::f;\n"}, CALLS),
    ({"h.h": "__device__ unsigned long n;\n#define __assertfail(a, f, l, n_, s) (void)(n = sizeof(f))\n" + LIVE}, CALLS),
    ({"h.h": '__device__ inline int f(int i) { int s = 0;\n_Pragma("unroll sizeof(__FILE__)") for (int j = 0; j < i; ++j) '
      "s += j * j; return s; }\n"}, CALLS),
), ids=("in a literal", "a macro of it in a literal", "a macro of a header in a literal", "in the request", "its file in a literal",
        "arguments that end in its file", "own function", "own function with a pasted name", "own macro", "a pragma"))
def test_assertions_give_the_output_of_raw_nvrtc(lasting, place, headers, source):  # noqa: F811
    check_each_directory(lasting, place, source, headers=headers)


HASH_OF = """#ifndef HASH_OF
#define HASH_OF
__device__ constexpr unsigned long hash_of(const char* s) { unsigned long h = 7; while (*s) h = h * 31 + *s++; return h; }
#endif
"""


class Puzzle:
    """A program over two headers whose functions hold assertions, each in one of the ways that a preprocessor
    allows."""

    def __init__(self, rng):
        self.rng = rng
        self.names = []
        self.headers = {"h.h": "", "i.h": ""}
        for _ in range(rng.randint(1, 5)):
            self.add_function()
        includes = ['#include "h.h"\n', '#include "i.h"\n']
        rng.shuffle(includes)
        calls = "".join(f"  p[{n}] = {name}(i + {n});\n" for n, name in enumerate(self.names))
        self.source = f'{LITERAL}{"".join(includes)}extern "C" __global__ void k(unsigned long* p, int i) {{\n{calls}}}\n'

    def add_function(self):
        name = f"f{len(self.names)}"
        condition = self.rng.choice(("i > 0", "true", "1 + 1 == 2", "sizeof(int) == 4", "i < 1'000", "false", "i != ')'",
                                     "i > (3) /* ) */"))
        one = f"assert({condition})"
        before, body, value = self.rng.choice((
            *[("", f"{one};", "i")] * 4,
            ("", f"if (i) {{ {one}; }}", "i"),
            ("", f"auto l = [&] {{ {one}; }}; l();", "i"),
            ("", f'#line 7 "other.h"\n{one};', "i"),
            ("", f"#if 1\n{one};\n#else\n(\n#endif", "i"),
            ("", f"// {one} (", "i"),
            ("", "", f"sizeof(X({one}))"),
            (HASH_OF, "", f"hash_of(X({one}))"),
            (f"#define BODY{name} {one}\n", f"BODY{name};", "i"),
            (f"#define BODY{name} {one}\n", "", f"sizeof(X(BODY{name}))"),
            (f"#define SAME{name}(x) x\n", f"SAME{name}({one});", "i"),
            (f"#define SAME{name}(x) x\n", "", f"sizeof(X(SAME{name}({one})))"),
        ))
        template, parameter = self.rng.choice((("", "int i"), ("template <class T> ", "T i"), ("static ", "int i")))
        text = f"{template}__device__ inline unsigned long {name}({parameter}) {{\n{body}\nreturn {value};\n}}\n"
        if self.rng.random() < 0.1:
            text = f"namespace n{name} {{\n{LENGTH.replace('NAME', '__assertfail')}{text}}}\nusing n{name}::{name};\n"
        self.headers[self.rng.choice(sorted(self.headers))] += before + text
        self.names.append(name)


@pytest.mark.parametrize("seed", range(int(os.environ.get("CCCL_CACHED_TEST_PUZZLES", "6"))))
def test_random_programs_with_assertions_give_the_output_of_raw_nvrtc(lasting, place, seed):  # noqa: F811
    puzzle = Puzzle(random.Random(seed))
    check_each_directory(lasting, place, puzzle.source, headers=puzzle.headers)
