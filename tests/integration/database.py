# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""The database of a stopped daemon, and damage to it."""

import pathlib


def database_files(daemon):
    files = (file for file in pathlib.Path(daemon.state).rglob("*") if file.suffix in (".sst", ".blob", ".log"))
    return sorted(file for file in files if file.stat().st_size > 0)


def flip_a_bit(daemon, key):
    """Flips a bit of the only entry under this key. The entry is larger than 5 kB and incompressible."""
    # RocksDB writes a blob as a header, the plain key, and the compressed value.
    key = bytes.fromhex(key)
    holders = [file for file in database_files(daemon) if file.suffix == ".blob" and key in file.read_bytes()]
    assert len(holders) == 1
    data = bytearray(holders[0].read_bytes())
    data[data.index(key) + len(key) + 5000] ^= 1
    holders[0].write_bytes(data)
