# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba_program.py MODE NAME...: compiles kernels through the plug-in and prints what it had and what it called.

MODE: `whole` for kernels with cache=True, `stages` for kernels without, `away` for cache=True without the plug-in.
"""

import hashlib
import json
import sys

import numba_device

numba_device.pretend()
calls = numba_device.counted()

import cccl_cache.numba  # noqa: E402

mode, names = sys.argv[1], sys.argv[2:]
if mode != "away":
    assert cccl_cache.numba.install(), cccl_cache.numba.status()

import numba_kernels  # noqa: E402

cubins, entries = {}, {}
for name in names:
    dispatcher, signature = numba_kernels.make(name, **({} if mode == "stages" else {"cache": True}))
    kernel = dispatcher.compile(signature)
    cubins[name] = hashlib.sha256(numba_device.cubin(kernel)).hexdigest()
    entries[name] = kernel._codelibrary._entry_name
print(json.dumps({"calls": calls, "cubins": cubins, "entries": entries, "status": cccl_cache.numba.status()}))
