# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The package's structs have the layout of the headers, checked by a C compiler."""

import ctypes
import pathlib
import subprocess

import pytest
from cccl_cache import _lease, _library
from cccl_cache._snapshots import files
from patience import PATIENCE

HEADERS = pathlib.Path(__file__).parents[2] / "client/include"
STRUCTS = {
    "Given": "bytes", "Received": "bytes", "OpenOptions": "open_options", "BuildOptions": "build_options",
    "NamedContents": "header", "NvrtcProgram": "nvrtc", "LinkFile": "link_input", "LinkProgram": "link",
    "NvvmFile": "nvvm_module", "NvvmProgram": "nvvm", "ResultInfo": "result_info", "Artifact": "artifact",
    "LoweredName": "lowered_name", "QueryOptions": "query_options", "Answer": "answer",
}
OF_LEASES = {"_Key": "deposit_key", "_DepositInfo": "deposit_info"}
OF_SNAPSHOTS = {"_Filter": "snapshot_filter", "_Summary": "snapshot_summary"}


def assertions(struct, name):
    """Yields the assertions of the C compiler."""
    names = {each[0] for each in struct._fields_}
    yield f"sizeof({name}) == {ctypes.sizeof(struct)}"
    for field in names:
        if field.endswith("_size") and field[:-5] in names:
            continue  # the second half of a cccl_cache_bytes
        yield f"offsetof({name}, {field.rstrip('_')}) == {getattr(struct, field).offset}"


def test_every_struct_is_compared():
    known = {name for name, each in vars(_library).items()
             if isinstance(each, type) and issubclass(each, ctypes.Structure) and each is not ctypes.Structure}
    assert known == set(STRUCTS)


@pytest.mark.parametrize("module, python, c", [
    (module, *each) for module, structs in ((_library, STRUCTS), (_lease, OF_LEASES), (files, OF_SNAPSHOTS))
    for each in structs.items()])
def test_a_struct_has_the_layout_of_the_header(module, python, c):
    lines = [f'_Static_assert({each}, "{python}");'
             for each in assertions(getattr(module, python), f"cccl_cache_{c}")]
    checked = subprocess.run(
        ["cc", "-fsyntax-only", "-x", "c", "-I", HEADERS, "-"], text=True, capture_output=True, timeout=PATIENCE,
        input="\n".join(["#include <cccl_cache/client_c.h>", "#include <stddef.h>", *lines]) + "\n")
    assert checked.returncode == 0, checked.stderr
