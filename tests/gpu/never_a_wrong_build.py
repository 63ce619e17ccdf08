# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""never_a_wrong_build.py SOCKET SOCKET runs pairs of calls of cuda.compute that differ in one thing (tests/plugins/pairs.py)
on a GPU with the plug-in. One process runs each pair forwards, another backwards, each over an unused daemon.

Prints for each pair the number of builds, and whether the numbers are NumPy's. Exit status 1 if a pair was not built twice
or a number is wrong. Needs the same packages as cuda_compute.py.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "plugins"))
ORDERS = {"forwards": 1, "backwards": -1}


class OnGpu:
    """Runs calls, and returns the numbers of the GPU."""

    def transform(self, op, data, *, out=None, iterator=None):
        import cupy
        from cuda_compute_cases import Records

        import cuda.compute as compute

        d_in = iterator
        if iterator is None and data.dtype.fields:
            d_in = Records(cupy.asarray(data.view("uint8")), data.dtype)
        elif iterator is None:
            d_in = cupy.asarray(data)
        d_out = cupy.empty(len(data), out or data.dtype)
        compute.unary_transform(d_in=d_in, d_out=d_out, op=op, num_items=len(data))
        return d_out.get()

    def reduce(self, data, **options):
        import cupy
        import numpy

        import cuda.compute as compute

        d_out = cupy.empty(1, data.dtype)
        compute.reduce_into(d_in=cupy.asarray(data), d_out=d_out, num_items=len(data), op=compute.OpKind.PLUS,
                            h_init=numpy.zeros(1, data.dtype), **options)
        return d_out.get()


def check(order):
    """Runs every pair in this order in one process. Returns whether all was right."""
    from pairs import PAIRS

    import cccl_cache.compute as plugin

    assert plugin.install(), plugin.status()
    right = True
    for name, pair in PAIRS.items():
        before = plugin.status()["builds"]
        # Compares bytes, because 0.0 and -0.0 are equal as numbers.
        wrong = [side.wanted.tobytes() != side.call(OnGpu()).tobytes() for side in pair[:: ORDERS[order]]].count(True)
        builds = plugin.status()["builds"] - before
        print(f"{order}, {name}: {builds} builds, {wrong} wrong", flush=True)
        right &= builds == 2 and wrong == 0
    return right


def main(*sockets):
    if sockets[0] == "--check":
        return 0 if check(sockets[1]) else 1
    with tempfile.TemporaryDirectory() as scratch:
        ended = [
            subprocess.run([sys.executable, __file__, "--check", order],
                           env={**os.environ, "CCCL_CACHE_SOCKET": socket, "XDG_CACHE_HOME": scratch}).returncode
            for order, socket in zip(ORDERS, sockets, strict=True)]
    return max(ended)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
