# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""Links once. Prints the results of all calls, the logs and the digest of the output.

    link_program.py LIBNVJITLINK OPTIONS INPUT...

The options are separated by blanks. An input is TYPE:PATH, where TYPE is a number of nvJitLinkInputType. `file:TYPE:PATH` is
added by nvJitLinkAddFile. Knows nothing of the cache."""

import ctypes
import hashlib
import pathlib
import sys


def main():
    linker = ctypes.CDLL(sys.argv[1])
    options = [each.encode() for each in sys.argv[2].split()]
    link, size = ctypes.c_void_p(), ctypes.c_size_t()
    print("create", linker.nvJitLinkCreate(ctypes.byref(link), len(options), (ctypes.c_char_p * len(options))(*options)))
    for each in sys.argv[3:]:
        kind, _, path = each.removeprefix("file:").partition(":")
        contents, name = pathlib.Path(path).read_bytes(), pathlib.Path(path).name
        if each.startswith("file:"):
            code = linker.nvJitLinkAddFile(link, int(kind), path.encode())
        else:
            code = linker.nvJitLinkAddData(link, int(kind), contents, ctypes.c_size_t(len(contents)), name.encode())
        print("add", name, code)
    print("complete", linker.nvJitLinkComplete(link))
    for kind in ("ErrorLog", "InfoLog", "LinkedCubin"):
        code = getattr(linker, f"nvJitLinkGet{kind}Size")(link, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value + 1)
        got = getattr(linker, f"nvJitLinkGet{kind}")(link, buffer)
        print(kind, code, got, size.value, hashlib.sha256(buffer.raw).hexdigest() if kind == "LinkedCubin" else buffer.value)
    print("destroy", linker.nvJitLinkDestroy(ctypes.byref(link)))


main()
