# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Arguments of the wrong type raise an error that names them."""

import pathlib
import re

import cccl_cache
import pytest

KERNEL = "__global__ void f() {}\n"


@pytest.fixture
def client(directory):
    """A client without a daemon, because the error comes before any call to it."""
    return cccl_cache.Client(directory / "nobody", fallback="error")


def refused(message):
    return pytest.raises(TypeError, match="^" + re.escape(message))


@pytest.mark.parametrize("given, message", [
    ({"arch": 90}, 'arch must be a str such as "sm_90", or "native", not 90 (int)'),
    ({"options": "-lineinfo"}, "options must be a sequence of str, not '-lineinfo' (str)"),
    ({"options": 5}, "options must be a sequence of str, not 5 (int)"),
    ({"options": [["-G"]]}, "each of options must be str, not ['-G'] (list)"),
    ({"options": [5]}, "each of options must be str, not 5 (int)"),
    ({"include_dirs": "include"}, "include_dirs must be a sequence of str or path-like, not 'include' (str)"),
    ({"include_dirs": [5]}, "each of include_dirs must be str or path-like, not 5 (int)"),
    ({"name_expressions": "f"}, "name_expressions must be a sequence of str, not 'f' (str)"),
    ({"name": 5}, "name must be a str, not 5 (int)"),
    ({"emit": None}, "emit must be a sequence of str, not None (NoneType)"),
    ({"working_directory": 5}, "working_directory must be a str or path-like, not 5 (int)"),
    ({"source": 5}, "source must be str or bytes, not 5 (int)"),
    ({"source": pathlib.PurePosixPath("k.cu")}, "source must be str or bytes, not PurePosixPath('k.cu') (PurePosixPath): "
     "give what its read_bytes() returns"),
    ({"source": None}, "source must be str or bytes, not None (NoneType)"),
    ({"headers": ["a.h"]}, "headers must be a mapping of str to str or bytes, not ['a.h'] (list)"),
    ({"headers": {"a.h": 5}}, "each of headers must be str or bytes, not 5 (int)"),
    ({"headers": {5: ""}}, "each name in headers must be a str, not 5 (int)"),
    ({"toolchain": 12.9}, 'toolchain must be an int such as 13 or a str such as "12.9", not 12.9 (float)'),
    ({"timeout": "5"}, "timeout must be a number of seconds, not '5' (str)"),
    ({"priority": 1}, "priority must be a str, not 1 (int)"),
])
def test_an_argument_that_a_build_can_not_take_is_named(client, given, message):
    with refused(message):
        client.build(**{"source": KERNEL, "arch": "sm_90", **given})


@pytest.mark.parametrize("given, message", [
    ({"arch": 90}, 'arch must be a str such as "sm_90", or "native", not 90 (int)'),
    ({"options": "-lto"}, "options must be a sequence of str, not '-lto' (str)"),
    ({"inputs": b"cubin"}, "inputs must be a sequence of contents, or of tuples"),
    ({"inputs": [None]}, "each of inputs must be str or bytes, not None (NoneType)"),
    ({"inputs": [(5, b"")]}, "the name of an input must be a str, not 5 (int)"),
])
def test_an_argument_that_a_link_can_not_take_is_named(client, given, message):
    with refused(message):
        client.link(**{"inputs": [b"cubin"], "arch": "sm_90", **given})


@pytest.mark.parametrize("given, message", [
    ({"modules": "define"}, "modules must be a sequence of contents, or of tuples"),
    ({"modules": [5]}, "each of modules must be str or bytes, not 5 (int)"),
    ({"lazy_modules": [(5, "")]}, "the name of a module must be a str, not 5 (int)"),
    ({"options": "-opt=0"}, "options must be a sequence of str, not '-opt=0' (str)"),
])
def test_an_argument_that_nvvm_can_not_take_is_named(client, given, message):
    with refused(message):
        client.nvvm(**{"modules": ["define"], "arch": "compute_90", **given})


def test_an_argument_that_is_no_program_is_refused(client):
    with refused("program must be a Build, Link or Nvvm, not 'x' (str)"):
        client.run("x")
    with refused("each program must be a Build, Link or Nvvm, not 'x' (str)"):
        list(client.build_many(["x"]))


MAKERS = pytest.mark.parametrize("make", [
    lambda **given: cccl_cache.Build(KERNEL, arch="sm_90", **given),
    lambda **given: cccl_cache.Link([b"cubin"], arch="sm_90", **given),
    lambda **given: cccl_cache.Nvvm(["define"], arch="compute_90", **given),
], ids=["build", "link", "nvvm"])


@MAKERS
def test_a_priority_is_passed_on_or_refused_with_the_known_ones(make):
    assert [make(priority=each).options()._obj.priority for each in (None, "interactive", "normal", "warm-up")] == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="priority='high' is not one of interactive, normal, warm-up"):
        make(priority="high")


@MAKERS
def test_an_on_miss_is_passed_on_or_refused_with_the_known_ones(make):
    assert [make(on_miss=each).options()._obj.on_miss for each in ("wait", "refuse", "finish")] == [0, 1, 2]
    with pytest.raises(ValueError, match="on_miss='never' is not one of wait, refuse, finish"):
        make(on_miss="never")


def test_a_generator_is_a_sequence():
    made = [cccl_cache.Nvvm((each for each in ["a", "b"]), arch="compute_90", options=(each for each in ["-g"]))
            for _ in range(2)]
    assert [(each.fields.module_count, each.fields.option_count) for each in made] == [(2, 2), (2, 2)]


@pytest.mark.parametrize("namespace, fields, group, message", [
    (5, {}, None, "namespace must be a str, not 5 (int)"),
    ("org.example", "source", None, "fields must be a mapping of str to bytes, str or int, not 'source' (str)"),
    ("org.example", {5: "a"}, None, "each name in fields must be a str, not 5 (int)"),
    ("org.example", {"a": 1}, 5, "group must be a str, not 5 (int)"),
])
def test_an_argument_that_a_lease_can_not_take_is_named(client, namespace, fields, group, message):
    with refused(message):
        client.lease(namespace, fields, group=group)


def test_contents_to_publish_are_bytes(fake):
    with cccl_cache.Client(fake.socket).lease("org.example.test", {"a": "published"}) as lease:
        with refused("contents must be bytes, not 'made' (str)"):
            lease.publish("made")
        lease.publish(b"made")


def test_the_key_to_remove_is_a_text(client):
    with refused("key must be a str, not b'00' (bytes)"):
        client.remove_deposit(b"00")


def test_a_timeout_is_given_as_a_number(directory):
    with refused("local_after must be a number of seconds, not '5' (str)"):
        cccl_cache.Client(directory / "nobody", local_after="5")
