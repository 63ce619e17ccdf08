# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that differ share only the results that are equal on both."""

import os
import pathlib
import shutil

from conftest import PLACES, FakeToolkit, build_pb2, build_pb2_grpc, nvrtc_request
from remote_nodes import await_connected, await_written, built, count, keys, make_node, redis, site  # noqa: F401

SOMEONE = 54321
NVRTC = "lib/libnvrtc.so.13"


def share(writer, readers, source="// shared\n"):
    """Returns the answer of each reader after the writer has built and shared this program."""
    for node in (writer, *readers):
        await_connected(node)
    written = count(writer, "remote_writes_total")
    assert writer.build_json(source)["outcome"] == "built"
    await_written(writer, written + 1)
    return [built(reader.build_json(source)) for reader in readers]


def test_equal_toolchains_in_different_places_share_results(make_node, redis, directory):
    elsewhere = FakeToolkit(PLACES.fake13, directory / "opt-cuda")
    readers = [make_node("2", redis.url, root=elsewhere.root)]
    assert share(make_node("1", redis.url), readers) == [("hit", "remote")]


def test_different_toolchains_of_the_same_version_share_nothing(make_node, redis, directory):
    other = FakeToolkit(PLACES.fake13, directory / "other-cuda")
    with open(pathlib.Path(other.root, NVRTC), "ab") as library:
        library.write(b"another build")
    reader = make_node("2", redis.url, root=other.root)
    assert share(make_node("1", redis.url), [reader]) == [("built", "")]
    assert count(reader, "remote_lookups_total") == 1


def test_different_drivers_share_the_results_of_one_toolchain(make_node, redis):
    one, two = make_node("1", redis.url), make_node("2", redis.url)
    for node in (one, two):
        await_connected(node)

    def build(node, driver):
        with node.channel() as channel:
            return build_pb2_grpc.BuildStub(channel).Build(nvrtc_request("// drivers\n", driver_version=driver), timeout=60)

    build(one, 13000)
    await_written(one, 1)
    assert build(two, 13020).tier == build_pb2.TIER_REMOTE


def test_nodes_with_different_users_and_umasks_share_results(make_node, redis, directory, toolkit, site):
    place = directory / "2"
    place.mkdir()
    key = shutil.copy(site[0], directory / "their.key")
    for path in (place, key):
        os.chown(path, SOMEONE, SOMEONE)
    os.chmod(redis.path, 0o777)
    os.chmod(pathlib.Path(toolkit.root, "control"), 0o666)
    one = make_node("1", redis.url)
    two = make_node("2", redis.url, key=key, uid=SOMEONE, launcher=("sh", "-c", 'umask 077; exec "$@"', "sh"))
    assert share(one, [two]) == [("hit", "remote")]
    assert share(two, [one], "// the other way\n") == [("hit", "remote")]
