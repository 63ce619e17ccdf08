# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The package at a prompt: names, representations, copies, and the end of a client."""

import asyncio
import ctypes
import pickle
import re

import cccl_cache
import pytest
from cccl_cache import _library

KERNEL = 'extern "C" __global__ void f(int* p) { *p = 1; }\n'


class Driver:
    """Replaces libcuda.so.1 by one whose first GPU has this compute capability."""

    def __init__(self, major, minor, failure=0):
        self.values, self.failure = {75: major, 76: minor}, failure

    def __call__(self, name):
        return self

    def cuInit(self, flags):
        return self.failure

    def cuDeviceGetAttribute(self, value, attribute, device):
        ctypes.cast(value, ctypes.POINTER(ctypes.c_int))[0] = self.values[attribute]
        return 0


@pytest.fixture
def client(fake):
    return cccl_cache.Client(fake.socket, fallback="error")


def test_a_closed_client_raises_an_error(client):
    with client as entered:
        assert entered is client
        result = client.build(KERNEL, arch="sm_90")
    with pytest.raises(ValueError, match="closed"):
        client.build(KERNEL, arch="sm_90")
    with pytest.raises(ValueError, match="closed"):
        client.health()
    client.close()
    assert repr(client) == "<cccl_cache.Client closed>"
    assert result.cubin, "a result stays usable"


def test_builds_in_progress_outlive_their_client(client):
    going_on = client.build_many([cccl_cache.Build(f"// {each}\n", arch="sm_90") for each in range(3)])
    first = next(going_on)
    client.close()
    assert len({first, *going_on}) == 3


def test_an_asynchronous_client_closes_too(fake):
    async def main():
        async with cccl_cache.AsyncClient(fake.socket) as client:
            assert (await client.build(KERNEL, arch="sm_90")).cubin
        with pytest.raises(ValueError, match="closed"):
            await client.health()
        assert repr(client) == "<cccl_cache.AsyncClient closed>"

    asyncio.run(main())


def test_only_public_names_are_exported():
    for name in cccl_cache.__all__:
        assert callable(getattr(cccl_cache, name))
        assert name in dir(cccl_cache)
    with pytest.raises(AttributeError, match="Lese"):
        cccl_cache.Lese


def test_the_representation_of_a_build_or_a_lease_shows_its_state(client):
    assert repr(cccl_cache.Build(KERNEL, arch="sm_90", emit="ptx")) == "<cccl_cache.Build sm_90 ptx>"
    assert repr(cccl_cache.Link([b""], arch="sm_80")) == "<cccl_cache.Link sm_80 cubin>"
    assert repr(cccl_cache.Nvvm([b""], arch="compute_90")) == "<cccl_cache.Nvvm compute_90 ptx>"
    with client.lease("org.example", {"a": 1}) as lease:
        assert repr(lease) == f"<cccl_cache.Lease {lease.key[:16]} held>"
        lease.publish(b"made")
        assert "deposited" in repr(lease)


def test_the_representation_of_a_result_shows_how_it_was_made(client):
    for outcome in ("built", r"hit \(process\)"):
        result = client.build("// shown\n" + KERNEL, arch="sm_90")
        assert re.fullmatch(rf"<cccl_cache.Result {outcome} \d+\.\d ms {result.key[:16]}>", repr(result))


def test_a_result_can_be_sent_to_another_process(client):
    made = client.build(KERNEL, arch="sm_90", emit=("cubin", "ptx"))
    for sent in (made, pickle.loads(pickle.dumps(made))):
        copy = pickle.loads(pickle.dumps(sent))
        for name in ("outcome", "tier", "key", "fingerprint", "toolchain", "log", "reason", "native_code", "remembered",
                     "timing", "artifacts", "cubin", "ptx", "ltoir", "lowered_names"):
            assert getattr(copy, name) == getattr(made, name), name
        assert bytes(copy.view("cubin")) == made.cubin
        with pytest.raises(KeyError):
            copy.view("ltoir")
        assert repr(copy) == repr(made)


def test_statistics_are_found_by_name(client):
    client.build(KERNEL, arch="sm_90")
    stats = client.stats()
    assert stats["builds_total"] >= 1
    assert set(stats["hits_total"]) == {"memory", "disk", "shelf", "remote"}
    assert {line.split()[0] for line in str(stats).splitlines()} == set(stats.keys())
    assert stats[0] in tuple(stats)
    assert set(dict(stats)) == {each.name for each in stats}
    with pytest.raises(KeyError):
        stats["bilds_total"]


def test_native_is_the_architecture_of_the_first_gpu(monkeypatch):
    monkeypatch.setattr(_library, "CDLL", Driver(12, 0))
    assert "sm_120" in repr(cccl_cache.Build(KERNEL, arch="native"))
    assert "sm_120" in repr(cccl_cache.Link([b""], arch="native"))
    assert "compute_120" in repr(cccl_cache.Nvvm([b""], arch="native"))


@pytest.mark.parametrize("driver", [Driver(9, 0, failure=100), object()])
def test_without_a_gpu_native_is_refused_with_the_way_out(monkeypatch, driver):
    monkeypatch.setattr(_library, "CDLL", lambda name: driver)
    with pytest.raises(ValueError, match='name the architecture, such as "sm_90"'):
        cccl_cache.Build(KERNEL, arch="native")
