# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Headers are found in the same place as by raw NVRTC, and give the same bytes."""

import json
import os
import pathlib
import subprocess
import tempfile

import pytest
from conftest import PATIENCE, PLACES
from raw import SEED, header_directories, raw, text_of

KERNEL = 'extern "C" __global__ void k(int* p) { *p = VALUE; }\n'
# Text that gives another value if it is included twice.
ONCE = "#pragma once\n#ifdef VALUE\n#undef VALUE\n#define VALUE 7002\n#else\n#define VALUE 7001\n#endif\n"
TWICE = '#include "src/a.h"\n#include "src/b.h"\n'


def write(place, **texts):
    """Writes sub__x="..." to sub/x.h."""
    for name, text in texts.items():
        path = place / (name.replace("__", "/") + ".h")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def include_next(place):
    write(place, one__x="#define VALUE 10\n#include_next <x.h>\n", two__x="__device__ int second() { return VALUE; }\n")
    return "#include <x.h>\n", "-Ione", "-Itwo"


def include_next_behind_an_absolute_name(place):
    write(place, one__x="#include_next <x.h>\n", two__x="#define VALUE 11\n")
    return f'#include "{place}/one/x.h"\n', "-Ione", "-Itwo"


def up_from_a_symlinked_directory(place):
    """The directory is the target's parent, not that of the symbolic link."""
    write(place, one__x="#define VALUE 1\n", far__x="#define VALUE 12\n", far__deep__y="")
    (place / "one" / "link").symlink_to("../far/deep")
    return "#include <link/../x.h>\n", "-Ione"


def up_and_out_of_the_root(place):
    write(place, one__y="", x="#define VALUE 13\n")
    return "#include <../x.h>\n", "-Ione"


def absolute(place):
    write(place, far__x="#define VALUE 14\n")
    return f'#include "{place}/far/x.h"\n',


def absolute_and_by_search_is_one_file(place):
    write(place, one__x=ONCE)
    return f'#include "{place}/one/x.h"\n#include <x.h>\n', "-Ione"


def one_directory_twice(place):
    write(place, one__x=ONCE, two__x="#define VALUE 2\n")
    return "#include <x.h>\n", "-Ione", "-Itwo", "-Ione"


def one_directory_twice_and_next(place):
    first = "#ifndef VALUE\n#define VALUE 15\n#include_next <x.h>\n#endif\n"
    write(place, one__x=first, two__x="__device__ int second();\n")
    return "#include <x.h>\n", "-Ione", "-Ione", "-Itwo"


def one_directory_under_two_names(place):
    write(place, one__x=ONCE, one__y="#include <x.h>\n")
    (place / "link").symlink_to("one")
    return "#include <x.h>\n#include <y.h>\n", f"-I{place}/link/../one/.", "-Ilink", "-Ione"


def pre_include_from_an_include_directory(place):
    write(place, one__pre="#define VALUE 16\n")
    return "", "-Ione", "--pre-include=pre.h"


def pre_include_beside_the_source(place):
    write(place, src__pre="#define VALUE 17\n", pre="#define VALUE 1\n")
    return "", "--pre-include=pre.h"


def pre_include_absolute(place):
    write(place, far__pre='#include "other.h"\n', far__other="#define VALUE 18\n")
    return "", f"--pre-include={place}/far/pre.h"


def quoted_beside_the_header(place):
    write(place, one__deep__x='#include "y.h"\n', one__deep__y="#define VALUE 19\n", one__y="#define VALUE 1\n")
    return "#include <deep/x.h>\n", "-Ione"


def quoted_beside_an_earlier_header_in_the_chain(place):
    write(place, one__x='#include "deep/y.h"\n', one__deep__y='#include "z.h"\n', one__z="#define VALUE 20\n")
    return "#include <x.h>\n", "-Ione"


def beside_the_source_is_first_for_quotes_only(place):
    write(place, src__x="#define VALUE 21\n", one__x="#define OTHER 22\n")
    return '#include "x.h"\n#include <x.h>\n__device__ int other() { return OTHER; }\n', "-Ione"


def the_sources_directory_named_as_well(place):
    first = "#ifndef VALUE\n#define VALUE 33\n#include_next <x.h>\n#endif\n"
    write(place, src__x=first, two__x="__device__ int second();\n")
    return '#include "x.h"\n', "-Isrc", "-Itwo"


def the_working_directory_named_as_well(place):
    first = "#ifndef VALUE\n#define VALUE 34\n#include_next <x.h>\n#endif\n"
    write(place, x=first, two__x="__device__ int second();\n")
    return "#include <x.h>\n", "-I.", f"-I{place}", "-Itwo"


def not_beside_the_source(place):
    write(place, src__x="#define VALUE 1\n", one__x="#define VALUE 23\n")
    return '#include "x.h"\n', "-Ione", "--no-source-include"


def a_directory_of_the_headers_name(place):
    write(place, one__y="", two__x="#define VALUE 24\n")
    (place / "one" / "x.h").mkdir()
    return "#include <x.h>\n", "-Ione", "-Itwo"


def a_directory_that_is_not_there(place):
    write(place, two__x="#define VALUE 25\n")
    return "#include <x.h>\n", "-Inowhere", "-Itwo"


def a_symlink_to_nothing(place):
    write(place, one__y="", two__x="#define VALUE 26\n")
    (place / "one" / "x.h").symlink_to("nothing")
    return "#include <x.h>\n", "-Ione", "-Itwo"


def a_file_where_a_directory_is_named(place):
    write(place, x="", two__x="#define VALUE 27\n")
    return "#include <x.h>\n", "-Ix.h", "-Itwo"


def a_file_named_as_a_directory(place):
    write(place, one__x="#define VALUE 35\n")
    names = ('<x.h/>', '"x.h/."', '<x.h//>', f'"{place}/one/x.h/"', '<x.h/./>')
    tests = "".join(f"#if __has_include({name})\n#error {index}\n#endif\n" for index, name in enumerate(names))
    return tests + "#include <x.h>\n", "-Ione"


def asked_for_and_there_or_not(place):
    write(place, one__x="#define VALUE 28\n")
    return "#if __has_include(<x.h>) && !__has_include(<y.h>)\n#include <x.h>\n#endif\n", "-Ione"


def named_by_a_macro(place):
    write(place, one__x="#define VALUE 29\n")
    return "#define NAME <x.h>\n#include NAME\n", "-Ione"


def hides_a_header_of_the_toolchain(place):
    write(place, one__cuda_fp16="#define VALUE 30\n")
    return "#include <cuda_fp16.h>\n", "-Ione"


def once_by_hard_links(place):
    write(place, src__a=ONCE)
    os.link(place / "src" / "a.h", place / "src" / "b.h")
    return TWICE, f"-I{place}"


def once_by_symlinks(place):
    write(place, src__a=ONCE)
    (place / "src" / "b.h").symlink_to("a.h")
    return TWICE, f"-I{place}"


def once_by_copies(place):
    write(place, src__a=ONCE, src__b=ONCE)
    return TWICE, f"-I{place}"


def an_empty_header(place):
    write(place, one__x="")
    return "#include <x.h>\n#define VALUE 31\n", "-Ione"


def no_newline_at_the_end(place):
    write(place, one__x="#define VALUE 32")
    return "#include <x.h>\n", "-Ione"


def asked_for_among_devices_and_processes(place):
    names = ("/dev/none", "/dev/fd/none.h", "/dev/pts/none", "/proc/none", "/proc/sys/none/none.h", "/sys/none")
    asked = " || ".join(f'__has_include("{name}")' for name in names)
    return f"#if {asked}\n#define VALUE 1\n#else\n#define VALUE 17\n#endif\n",


def build(daemon, place, options):
    output = place / "out.cubin"
    done = daemon.cli(
        "--json", "build", "src/k.cu", "--arch", "sm_90", "-o", str(output),
        *(f"--option={option}" for option in options), cwd=place,
    )
    return json.loads(done.stdout)["outcome"], output.read_bytes()


@pytest.mark.parametrize("arrange", (
    include_next, include_next_behind_an_absolute_name, up_from_a_symlinked_directory, up_and_out_of_the_root, absolute,
    absolute_and_by_search_is_one_file, one_directory_twice, one_directory_twice_and_next,
    one_directory_under_two_names,
    pre_include_from_an_include_directory, pre_include_beside_the_source, pre_include_absolute,
    quoted_beside_the_header, quoted_beside_an_earlier_header_in_the_chain, beside_the_source_is_first_for_quotes_only,
    the_sources_directory_named_as_well, the_working_directory_named_as_well, not_beside_the_source,
    a_directory_of_the_headers_name, a_directory_that_is_not_there, a_symlink_to_nothing,
    a_file_where_a_directory_is_named, a_file_named_as_a_directory, asked_for_and_there_or_not, named_by_a_macro, hides_a_header_of_the_toolchain,
    asked_for_among_devices_and_processes, once_by_hard_links, once_by_symlinks, once_by_copies, an_empty_header,
    no_newline_at_the_end,
), ids=lambda arrange: arrange.__name__)
def test_headers_are_found_where_raw_nvrtc_finds_them(lasting, directory, arrange):
    (directory / "src").mkdir()
    text, *options = arrange(directory)
    text = f"// {directory}\n" + text + KERNEL  # the text differs from that of other tests, because all tests share the cache
    (directory / "src" / "k.cu").write_text(text)
    options.append(SEED)
    toolchain = [f"-I{each}" for each in header_directories(lasting)]
    expected = raw(kind="nvrtc", root=PLACES.cuda13, source=text, name="src/k.cu", cwd=directory,
                   options=["-arch=sm_90", *options, *toolchain])["cubin"]
    assert build(lasting, directory, options) == ("built", expected)
    assert build(lasting, directory, options) == ("hit", expected)


@pytest.mark.parametrize("command", ("build /dev/stdin <k.cu", "build <(cat k.cu)"))
def test_a_program_from_a_descriptor_finds_headers_in_the_named_directories(lasting, directory, command):
    (directory / "inc").mkdir()
    (directory / "inc/x.h").write_text("#define VALUE 18\n")
    (directory / "k.cu").write_text(f'// {directory}\n#include "x.h"\n' + KERNEL)
    done = subprocess.run(
        ["bash", "-c", f'"$0" --socket "$1" --json {command} -I inc --arch sm_90 -o k.cubin', PLACES.cli, lasting.socket],
        capture_output=True, cwd=directory, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout)["outcome"] == "built"


def test_headers_in_shared_memory_are_read_and_checked_like_others(lasting):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        place = pathlib.Path(name)
        (place / "src").mkdir()
        write(place, one__x="#define VALUE 19\n")
        (place / "src/k.cu").write_text(f'// {place}\n#include "x.h"\n' + KERNEL)
        outcomes = [build(lasting, place, (f"-I{place}/one", SEED))[0] for _ in range(2)]
        (place / "one/x.h").write_text("#define VALUE 20\n")
        assert [*outcomes, build(lasting, place, (f"-I{place}/one", SEED))[0]] == ["built", "hit", "built"]
