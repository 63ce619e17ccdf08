# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon is upgraded under a connected client."""

import cccl_cache
import pytest

KERNEL = 'extern "C" __global__ void f(int* p) { *p = 1; }\n//fake: unique\n'


@pytest.mark.parametrize("kept", [None, 0])
def test_a_client_finds_the_new_version_and_its_own_results(fake, kept):
    client = cccl_cache.Client(fake.socket, fallback="error", process_cache_bytes=kept)
    old = client.health().version
    built = client.build(KERNEL, arch="sm_90")
    with client.lease("org.example.test", {"a": 1}) as lease:
        lease.publish(b"made")
    unfinished = client.lease("org.example.test", {"a": 2})
    fake.upgrade()
    assert client.health().version == f"{old}+upgraded"
    again = client.build(KERNEL, arch="sm_90")
    assert again.tier == ("disk" if kept == 0 else "process")
    assert (again.outcome, again.key, again.cubin) == ("hit", built.key, built.cubin)
    assert client.build(KERNEL, arch="sm_80").outcome == "built"
    assert client.lease("org.example.test", {"a": 1}).contents == b"made"
    assert not unfinished.held
    with pytest.raises(cccl_cache.Error) as raised:
        unfinished.publish(b"too late")
    assert raised.value.status == "lease-lost"
    with client.lease("org.example.test", {"a": 2}) as lease:
        assert lease.fence > unfinished.fence and lease.contents is None
