# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""NVRTC prints enumerators of a precompiled header in another form. No output and no log may show that."""

import itertools

import pytest
from conftest import PATIENCE, PLACES, build_pb2, build_pb2_grpc, nvrtc_request, wait_for

ENUMERATORS = "namespace n { enum Color { RED, BLUE }; enum class Shape { CIRCLE }; }\n"
PRINTING = "template <auto value> __device__ const char* NameOf() { return __PRETTY_FUNCTION__; }\n"
WARNING = (
    'template <n::Color color> struct [[deprecated("old")]] Old {};\n'
    "template <n::Color color> struct New { Old<color> old; };\n"
)


@pytest.fixture(params=["cuda13", "cuda12"])
def clients(make_daemon, directory, request):
    """Clients of a daemon with precompiled headers, and of a daemon without."""

    def client(name, limit):
        daemon = make_daemon("--pch-memory-limit", limit, roots=(getattr(PLACES, request.param),), name=name).start()
        return Client(daemon, directory)

    return client("with", "1GiB"), client("without", "0")


class Client:
    def __init__(self, daemon, place):
        self.daemon = daemon
        self.place = place
        self.stub = build_pb2_grpc.BuildStub(daemon.channel())

    def build(self, body, *options, before=""):
        source = f'#include "colors.h"\n{before}extern "C" __global__ void k(char* p) {{ {body} }}\n'
        reply = self.stub.Build(nvrtc_request(source, f"-I{self.place}", "-std=c++17", *options, name="k.cu"), timeout=PATIENCE)
        assert reply.outcome == build_pb2.OUTCOME_BUILT, reply.log
        return reply

    def teach(self):
        """Has the daemon parse the preamble. Returns whether a compile uses it."""
        for value in (1, 2):
            self.build(f"*p = {value};")
        wait_for(lambda: self.daemon.stats()["preambles_total"] == 1, "the preamble")
        return self.build("*p = 3;").precompiled_headers


def told(reply):
    return {each.kind: each.contents for each in reply.artifacts}, reply.log


def write_out(name):
    return f"const char* name = {name}; for (int i = 0; name[i]; ++i) p[i] = name[i];"


def test_precompiled_headers_do_not_change_a_name_that_the_source_prints(clients, directory):
    (directory / "colors.h").write_text(ENUMERATORS)
    spared, whole = clients
    assert spared.teach()
    for value in ("n::BLUE", "n::Shape::CIRCLE"):
        body = write_out(f"NameOf<{value}>()")
        assert told(spared.build(body, before=PRINTING)) == told(whole.build(body, before=PRINTING))


def test_precompiled_headers_do_not_change_a_name_that_a_header_prints(clients, directory):
    (directory / "colors.h").write_text(ENUMERATORS + PRINTING)
    spared, whole = clients
    assert not spared.teach()
    body = write_out("NameOf<n::BLUE>()")
    assert told(spared.build(body)) == told(whole.build(body))


def test_precompiled_headers_do_not_change_a_name_that_a_later_header_prints(clients, directory):
    (directory / "colors.h").write_text(ENUMERATORS)
    (directory / "printing.h").write_text(PRINTING)
    spared, whole = clients
    assert spared.teach()
    before = '__device__ int first;\n#include "printing.h"\n'
    body = write_out("NameOf<n::BLUE>()")
    assert told(spared.build(body, before=before)) == told(whole.build(body, before=before))


def test_precompiled_headers_do_not_change_an_enumerator_in_a_warning(clients, directory):
    (directory / "colors.h").write_text(ENUMERATORS + WARNING)
    spared, whole = clients
    assert spared.teach()
    replies = [client.build("New<n::RED> object;") for client in clients]
    assert "n::RED" in replies[0].log
    assert told(replies[0]) == told(replies[1])


def test_precompiled_headers_do_not_change_names_in_debug_information(clients, directory):
    (directory / "colors.h").write_text(ENUMERATORS + "template <n::Color color> struct Of { int value; };\n")
    spared, whole = clients

    def builds(value, option):
        replies = [client.build(f"Of<n::RED> of; of.value = {value}; *p = of.value;", option) for client in clients]
        assert told(replies[0]) == told(replies[1])
        return replies[0]

    builds(0, "-G")
    # Preambles are parsed in the order of their first misses.
    values = itertools.count()
    wait_for(lambda: builds(next(values), "-lineinfo").precompiled_headers, "the preamble")
    assert not builds(1, "-G").precompiled_headers
