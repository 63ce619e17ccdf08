# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""A compile with precompiled headers gives the same bytes as a compile without them."""

import base64
import concurrent.futures
import os

import pytest
from conftest import PATIENCE, PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for
from programs_over_headers import PROGRAMS
from raw import SEED, raw

WITH = ("--pch-memory-limit", "4GiB")
WITHOUT = ("--pch-memory-limit", "0")


@pytest.fixture
def pair(make_daemon):
    """A daemon with precompiled headers, and a daemon without."""
    roots = (PLACES.cuda13,)
    return (make_daemon(*WITH, roots=roots, name="with").start(), make_daemon(*WITHOUT, roots=roots, name="without").start())


class Client:
    def __init__(self, daemon):
        self.daemon = daemon
        self.stub = build_pb2_grpc.BuildStub(daemon.channel())

    def build(self, source, *options, **keywords):
        request = nvrtc_request(source, *options, **keywords)
        request.nvrtc.append_toolchain_headers = True
        return self.stub.Build(request, timeout=2 * PATIENCE)

    def count(self, name):
        return self.daemon.stats()[name]

    def teach(self, source, *options, **keywords):
        """Has the daemon parse the preamble of a program."""
        before = self.count("preambles_total")
        for end in ("// once\n", "// again\n"):
            self.build(source + end, *options, **keywords)
        wait_for(lambda: self.count("preambles_total") > before, "a preamble")


def artifacts(reply):
    return {each.kind: each.contents for each in reply.artifacts}


def compare(name, with_headers, without):
    begin, rest = PROGRAMS[name]
    source = begin + rest
    spared_reply = with_headers.build(source, name=f"{name}.cu")
    whole = without.build(source, name=f"{name}.cu")
    assert set(artifacts(spared_reply)) == {build_pb2.ARTIFACT_KIND_PTX, build_pb2.ARTIFACT_KIND_CUBIN}
    assert artifacts(spared_reply) == artifacts(whole), name
    assert spared_reply.log == whole.log, name
    assert list(spared_reply.lowered_names) == list(whole.lowered_names), name
    assert spared_reply.precompiled_headers, (name, with_headers.daemon.stats(), with_headers.daemon.log_text())
    assert not whole.precompiled_headers


def test_programs_have_the_same_bytes_with_and_without_precompiled_headers(pair):
    with_headers, without = map(Client, pair)
    for begin in dict.fromkeys(begin for begin, _ in PROGRAMS.values()):
        with_headers.teach(begin + 'extern "C" __global__ void first(int* p) { *p = 1; }\n')
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() // 2)) as pool:
        for done in [pool.submit(compare, name, with_headers, without) for name in PROGRAMS]:
            done.result()
    assert with_headers.count("pch_builds_total") >= len(PROGRAMS) >= 40


SMALL = "#include <cuda_fp16.h>\n#define TWO 2\n"


def small(value):
    return SMALL + f'extern "C" __global__ void k(__half* p) {{ p[0] = __half({value}.0f * TWO); }}\n'


@pytest.mark.parametrize("options", [
    ("-lineinfo",), ("-arch=compute_90",), ("-DX=1", "-I/nowhere"),
    ("--device-as-default-execution-space",), ("-frandom-seed=mine",),
])
def test_options_give_the_same_bytes_with_and_without_precompiled_headers(pair, options):
    with_headers, without = map(Client, pair)
    arch = "sm_90"
    with_headers.teach(small(1), *options, arch=arch)
    spared, whole = with_headers.build(small(2), *options, arch=arch), without.build(small(2), *options, arch=arch)
    assert spared.precompiled_headers
    assert artifacts(spared) == artifacts(whole) != {}
    assert spared.log == whole.log


def linked(ltoir):
    """Returns nvJitLink's output for this input alone."""
    return [
        raw(kind="link", root=PLACES.cuda13, options=["-arch=sm_90", "-lto", *options],
            inputs=[[3, base64.b64encode(ltoir).decode()]])
        for options in ((), ("-ptx",))
    ]


@pytest.mark.parametrize("options", [("-dlto", "-rdc=true"), ("--dlink-time-opt",)])
def test_the_second_ltoir_uses_precompiled_headers_and_links_to_the_code_of_raw_nvrtc(pair, options):
    with_headers, without = map(Client, pair)
    assert not with_headers.build(small(1), *options).precompiled_headers
    wait_for(lambda: with_headers.count("preambles_total") == 1, "the preamble that the first program's PTX waits for")
    spared, whole = with_headers.build(small(2), *options), without.build(small(2), *options)
    assert spared.precompiled_headers
    assert spared.key == whole.key
    (ltoir,), (of_whole,) = artifacts(spared).values(), artifacts(whole).values()
    of_raw = raw(kind="nvrtc", root=PLACES.cuda13, source=small(2), name="kernel.cu",
                 options=["-arch=sm_90", f"-I{PLACES.cuda13}/include", SEED, *options])["ltoir"]
    assert linked(ltoir) == linked(of_whole) == linked(of_raw)
    assert with_headers.count("pch_builds_total") == 1
    assert with_headers.count("preambles_total") == 1


@pytest.mark.parametrize(("options", "is_searched"), [(("--optix-ir",), True), (("-G",), False)])
def test_code_that_shows_how_it_was_parsed_is_made_without_precompiled_headers(pair, options, is_searched):
    """With precompiled headers, the bytes of such code could differ (decision 12). The daemon searches its PTX for paths,
    and that PTX is compiled with precompiled headers."""
    with_headers, without = map(Client, pair)
    with_headers.teach(small(1))
    for value in (2, 3, 4):
        reply = with_headers.build(small(value), *options)
        assert not reply.precompiled_headers
        assert artifacts(reply) == artifacts(without.build(small(value), *options)) != {}
    wait_for(lambda: with_headers.count("preambles_total") == (2 if is_searched else 1), "the preamble of that PTX alone")


def test_precompiled_headers_change_no_lowered_name_warning_or_error(pair):
    with_headers, without = map(Client, pair)
    with_headers.teach(small(1))
    template = SMALL + "template <typename T> __global__ void scale(T* p, int unused) { int never; *p *= TWO; }\n"
    replies = []
    for client in (with_headers, without):
        request = nvrtc_request(template, name="scale.cu")
        request.nvrtc.append_toolchain_headers = True
        request.nvrtc.name_expressions.extend(["scale<float>", "&scale<int>"])
        replies.append(client.stub.Build(request, timeout=PATIENCE))
    assert replies[0].precompiled_headers
    assert list(replies[0].lowered_names) == list(replies[1].lowered_names)
    assert "never" in replies[0].log and replies[0].log == replies[1].log
    assert artifacts(replies[0]) == artifacts(replies[1])
    failures = [client.build(SMALL + "int x = ;\n") for client in (with_headers, without)]
    assert failures[0].log == failures[1].log
    assert failures[0].outcome == failures[1].outcome == build_pb2.OUTCOME_FAILED
    assert with_headers.count("compiles_total") == 4  # the preamble costs no further compile


def test_a_changed_header_of_the_preamble_is_noticed(pair, directory):
    with_headers, without = map(Client, pair)
    include = directory / "include"
    include.mkdir()
    header = include / "mine.h"
    header.write_text("#define MINE 1\n")

    def source(value):
        return f'#include "mine.h"\n#include <cuda_fp16.h>\nextern "C" __global__ void k(int* p) {{ *p = MINE + {value}; }}\n'

    with_headers.teach(source(1), f"-I{include}")
    assert with_headers.build(source(2), f"-I{include}").precompiled_headers
    header.write_text("#define MINE 40000\n")
    changed = with_headers.build(source(3), f"-I{include}")
    assert not changed.precompiled_headers
    assert artifacts(changed) == artifacts(without.build(source(3), f"-I{include}"))
    assert with_headers.count("preambles_total") == 1
    with_headers.build(source(4), f"-I{include}")
    wait_for(lambda: with_headers.count("preambles_total") == 2, "the preamble that includes the changed header")
    again = with_headers.build(source(5), f"-I{include}")
    assert again.precompiled_headers
    assert artifacts(again) == artifacts(without.build(source(5), f"-I{include}"))
    header.write_text("#define MINE 1\n")  # a result with this header is a hit, with or without precompiled headers
    assert with_headers.build(source(2), f"-I{include}").outcome == build_pb2.OUTCOME_HIT


def test_programs_in_directories_of_their_own_share_a_preamble(pair, directory):
    """CuPy names each program in this way, and has macros after its includes."""
    with_headers, without = map(Client, pair)

    def build(client, number, name):
        kernel = f'#define NUMBER {number}\nextern "C" __global__ void k(__half* p) {{ *p = __half(NUMBER); }}\n'
        return client.build(f'#include "mine.h"\n#include <cuda_fp16.h>\n{kernel}', "-std=c++17", f"-I{directory}/include",
                            name=f"{directory}/{name}/k.cu")

    def same(number, name):
        reply = build(with_headers, number, name)
        assert artifacts(reply) == artifacts(build(without, number, name)) != {}
        return reply.precompiled_headers

    for place in ("include", "private"):
        (directory / place).mkdir()
        (directory / place / "mine.h").write_text(f"__device__ int of_{place};\n")
    for number in range(2):
        same(number, f"random-{number}")
    wait_for(lambda: with_headers.count("preambles_total") == 1, "a preamble")
    assert same(2, "random-2")
    assert not same(3, "private")  # has another mine.h
    assert same(4, "random-4")
    assert with_headers.count("preambles_total") == 1
