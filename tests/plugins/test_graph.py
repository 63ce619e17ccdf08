# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Graphs of cuda.core that are built from nodes, with a driver that runs them on memory of this process."""

import ctypes
import gc
import weakref

import graph_driver
import numpy as np
import pytest
from graph_driver import DeviceArray

import cccl_cache
from cccl_cache.graph import (EmptyNode, HostNode, KernelNode, MemcpyDtoHNode, MemcpyHtoDNode, MemcpyNode, MemsetNode,
                              build)
from cuda.core import ObjectCode


def kernel(name):
    return ObjectCode.from_cubin(b"an image with add and multiply\0").get_kernel(name)


def add(to, value, deps=None, **params):
    return KernelNode(kernel("add"), [to, np.int32(value)], deps, params)


def integer(value=0):
    return DeviceArray(value, dtype=np.int32)


@pytest.fixture
def said():
    before = len(graph_driver.calls())
    return lambda: graph_driver.calls()[before:]


def test_nodes_reach_the_driver_with_their_values_and_run_in_order(said):
    host, back, seen = np.array([2.0]), np.zeros(1), []
    device = DeviceArray(0)
    up = MemcpyHtoDNode(device, host, host.nbytes)
    run = KernelNode[2, (4, 2), 0, 64](kernel("multiply"), [device, np.float32(3), np.int8(2)], [up])
    down = MemcpyDtoHNode(back, device, deps=[run])
    graph = HostNode(lambda array: seen.append(array[0]), [back], [down]).build()
    assert [call for call in said() if call.startswith("add ")] == [
        "add copy 8 host to device", "add kernel multiply grid 2x1x1 block 4x2x1 shared 64", "add copy 8 device to host",
        "add host"]
    graph.launch()
    host[0] = 1
    graph.instantiate().launch()
    assert seen == [18, 9]


def test_a_node_that_several_depend_on_is_added_once_and_joins_wait_for_all(said):
    left, right = integer(7), integer(7)
    start = EmptyNode()
    clear = [MemsetNode(left, value=0x01020304, deps=[start], params={"elemSize": 4}), MemsetNode(right, 4, 0, [start, start])]
    joined = EmptyNode([add(left, 1, [clear[0]]), add(right, 5, [clear[1]])])
    build(MemcpyNode(right, left, deps=[joined]), clear[0]).launch()
    assert left.tolist() == right.tolist() == [0x01020305]
    assert [said().count(f"add {node}") for node in (
        "empty", "memset 1 elements of 4", "memset 4 elements of 1", "copy 4 device to device")] == [2, 1, 1, 1]


def test_arguments_and_dependencies_of_a_node_can_change_until_the_build():
    value = integer()
    first, second = add(value, 1), KernelNode(kernel("add"))
    second.args += [value, np.int32(10)]
    second.deps.append(first)
    first.args[1] = np.int32(2)
    second.build().launch()
    assert value.tolist() == [12]


def test_an_update_takes_the_present_values_of_the_nodes(said):
    value = integer()
    node = add(value, 1)
    graph = node.build()
    graph.update()
    graph.launch()
    node.args[1], node.params["gridDim"] = np.int32(5), (2, 3)
    graph.update().launch()
    assert value.tolist() == [31] and said().count("update") == 1
    graph.update(add(value, 100)).launch()
    graph.update().launch()
    assert value.tolist() == [231]


def test_an_update_to_another_shape_is_refused_and_the_graph_stays_as_it_was():
    value = integer()
    first, second = add(value, 1), add(value, 10)
    graph = build(first, second).launch()
    second.deps.append(first)
    with pytest.raises(ValueError, match="Build a new graph"):
        graph.update()
    graph.launch()
    assert value.tolist() == [22]


def test_a_chain_of_two_thousand_nodes_is_built():
    value = integer()
    node = add(value, 1)
    for _ in range(2000):
        node = EmptyNode([node])
    node.build().launch()
    assert value.tolist() == [1]


def test_a_graph_keeps_its_resources_until_it_is_destroyed(said):
    value, back = integer(4), np.zeros(1, np.int32)
    function = back.copy  # a new object
    kept = [weakref.ref(value), weakref.ref(back)]
    node = MemcpyDtoHNode(back, value, deps=[HostNode(function)])
    graph = node.build().launch()
    node.dst = node.src = node.deps[0].function = None
    del value, back, function
    gc.collect()
    graph.launch()
    assert all(each() is not None for each in kept)
    assert kept[1]().tolist() == [4]
    graph.destroy()
    gc.collect()
    assert [each() for each in kept] == [None, None]
    assert "wait" in said()


def test_resources_that_an_update_replaced_are_given_back(said):
    value, other = integer(), integer()
    kept = weakref.ref(value)
    node = add(value, 1)
    graph = node.build().launch()
    node.args[0] = other
    graph.update().launch()  # the first launch may still run
    del value
    graph.update()
    gc.collect()
    assert kept() is None


def test_a_destroyed_graph_is_launched_no_more():
    graph = add(integer(), 1).build()
    graph.destroy()
    graph.destroy()
    for call in (graph.launch, graph.instantiate, graph.update):
        with pytest.raises(RuntimeError, match="destroyed"):
            call()


def test_a_host_function_that_raises_is_reported_at_the_next_launch(caplog):
    graph = HostNode({}.__getitem__, ["gone"]).build()
    graph.launch()
    assert "host node" in caplog.text
    with pytest.raises(RuntimeError, match="KeyError"):
        graph.launch()
    graph.launch()


class OnlyDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("make", [
    lambda: np.zeros(3, np.int16), lambda: np.zeros((3, 1), np.int16).T, lambda: bytearray(6),
    lambda: memoryview(bytearray(6)), lambda: OnlyDlpack(np.zeros(3, np.int16))])
def test_host_memory_may_be_an_array_or_a_buffer(make):
    device = DeviceArray(1, 2, 3, dtype=np.int16)
    host = make()
    MemcpyDtoHNode(host, device).build().launch()
    view = host.array if isinstance(host, OnlyDlpack) else host
    assert np.frombuffer(np.ascontiguousarray(view), np.int16).tolist() == [1, 2, 3]
    to = DeviceArray(0, 0, 0, dtype=np.int16)
    MemcpyNode(to, host).build().launch()
    assert to.tolist() == [1, 2, 3]


def test_addresses_need_a_size():
    device, host = DeviceArray(1.5), np.zeros(1)
    addresses = host.ctypes.data, device.array.ctypes.data
    MemcpyDtoHNode(*addresses, 8).build().launch()
    assert host[0] == 1.5
    with pytest.raises(ValueError, match="needs a size"):
        MemcpyNode(*addresses).build()
    with pytest.raises(ValueError, match="needs a size"):
        MemsetNode(addresses[1]).build()


@pytest.mark.parametrize("node, error, word", [
    (lambda: MemcpyNode(DeviceArray(1), DeviceArray(1, 2)), ValueError, "give the size"),
    (lambda: MemcpyNode(DeviceArray(1), DeviceArray(1, 2), 16), ValueError, "does not fit"),
    (lambda: MemcpyNode(DeviceArray(1), np.zeros(4)[::2]), ValueError, "contiguous"),
    (lambda: MemcpyNode(DeviceArray(1), [1.0]), TypeError, "neither an array"),
    (lambda: MemcpyDtoHNode(b"12345678", DeviceArray(1)), ValueError, "read-only"),
    (lambda: MemcpyDtoHNode(DeviceArray(1), DeviceArray(1)), TypeError, "dst is a DeviceArray on the device"),
    (lambda: MemcpyHtoDNode(np.zeros(1), np.zeros(1)), TypeError, "dst is a ndarray on the host"),
    (lambda: MemsetNode(np.zeros(1)), TypeError, "on the host"),
    (lambda: MemsetNode(DeviceArray(1), value=256), ValueError, "does not fit"),
    (lambda: MemsetNode(DeviceArray(1), 6, params={"elemSize": 4}), ValueError, "no elements of 4 bytes"),
    (lambda: MemsetNode(DeviceArray(1), params={"elemSize": 8}), ValueError, "1, 2 or 4"),
    (lambda: MemsetNode(DeviceArray(1), params={"elements": 8}), ValueError, "elemSize"),
    (lambda: add(np.zeros(1), 1), TypeError, "argument 0 is a ndarray on the host"),
    (lambda: add(OnlyDlpack(np.zeros(1)), 1), TypeError, "argument 0 is a OnlyDlpack on the host"),
    (lambda: KernelNode(kernel("add"), [DeviceArray(1), 1]), TypeError, r"argument 1 is 8 bytes wide as a int.*takes 4"),
    (lambda: KernelNode(kernel("add"), [DeviceArray(1), True]), TypeError, "argument 1 is 1 bytes wide"),
    (lambda: KernelNode(kernel("add"), [DeviceArray(1), ctypes.c_double(1)]), TypeError, "argument 1 is 8 bytes wide"),
    (lambda: KernelNode(kernel("add"), [DeviceArray(1)]), TypeError, "takes 2 arguments, and the node has 1"),
    (lambda: KernelNode(kernel("add"), params={"grid": 1}), ValueError, "gridDim"),
    (lambda: KernelNode["blocks"], ValueError, r"KernelNode\[grid, block\]"),
    (lambda: KernelNode("add"), TypeError, "a str is no kernel"),
    (lambda: EmptyNode([None]), TypeError, "None"),
    (lambda: EmptyNode(["start"]), TypeError, "a str is given where a node is wanted"),
])
def test_a_graph_that_cannot_be_built_is_refused_with_the_reason(node, error, word):
    with pytest.raises(error, match=word):
        node().build()


def test_the_error_for_a_circle_of_nodes_names_them():
    one, two = EmptyNode(), HostNode(print)
    one.deps.append(two)
    two.deps.append(one)
    with pytest.raises(ValueError, match="EmptyNode -> HostNode -> EmptyNode"):
        MemsetNode(DeviceArray(1), deps=[one]).build()
    with pytest.raises(ValueError, match="no node"):
        build()


SOURCE = "__global__ void add(int* to, int value) { *to += value; } // "


def test_all_builds_of_a_graph_are_one_batch(fake, monkeypatch):
    client = cccl_cache.Client(fake.socket)
    batches = []
    build_many = client.build_many
    monkeypatch.setattr(client, "build_many", lambda programs: batches.append(programs) or build_many(programs))
    value = integer()
    programs = [cccl_cache.Build(f"{SOURCE}{i}", arch="sm_90", name_expressions=["add"]) for i in range(5)]
    nodes = [KernelNode(each, [value, np.int32(1)]) for each in [*programs, programs[0]]]
    graph = build(*nodes, KernelNode(client.run(programs[0]), [value, np.int32(10)], name="add"), client=client)
    graph.launch()
    assert value.tolist() == [16]
    assert batches == [programs]
    assert fake.stats()["builds_total"] == 5


def test_a_build_that_is_no_kernel_is_refused_with_the_reason(fake):
    client = cccl_cache.Client(fake.socket)

    def node(*names, emit="cubin", **options):
        return KernelNode(cccl_cache.Build(SOURCE, arch="sm_90", name_expressions=names, emit=emit), [], **options)

    for wrong, word in ((node(), "0 name expressions"), (node("add", "multiply"), "2 name expressions"),
                        (node("add", emit="ltoir"), "needs a cubin or PTX")):
        with pytest.raises(ValueError, match=word):
            wrong.build(client=client)
    with pytest.raises(cccl_cache.CompileError):
        KernelNode(cccl_cache.Build("//fake: fail no such thing\n", arch="sm_90")).build(client=client)
