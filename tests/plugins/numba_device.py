# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""numba-cuda with a pretended device of capability 9.0. All works except launches."""

import _numba_cuda_redirector  # noqa: F401  numba-cuda's numba.cuda: a .pth file does so where it is installed
import functools
import types

from numba.cuda import codegen, compiler, dispatcher
from numba.cuda.cudadrv import driver, nvrtc, nvvm

CAPABILITY = (9, 0)


def pretend(capability=CAPABILITY):
    """Gives the process a device. Linking a kernel binds it to the device."""
    device = types.SimpleNamespace(compute_capability=capability, id=0)
    dispatcher.get_current_device = compiler.get_current_device = lambda: device
    codegen.devices = types.SimpleNamespace(get_context=lambda: types.SimpleNamespace(device=device))
    dispatcher._Kernel.bind = lambda kernel: kernel._codelibrary.get_cubin()


def counted():
    """Returns the list of compilers that this process calls itself, in order. Called before a plug-in is installed."""
    calls = []

    def counting(owner, name):
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*args, **kwargs):
            calls.append(name)
            return original(*args, **kwargs)

        setattr(owner, name, call)

    for owner, name in ((nvvm, "compile_ir"), (nvrtc, "Program"), (driver, "Linker")):
        counting(owner, name)
    return calls


def cubin(dispatcher_or_kernel, signature=None):
    """Returns the code of a kernel, compiled or loaded."""
    kernel = dispatcher_or_kernel if signature is None else dispatcher_or_kernel.compile(signature)
    return bytes(kernel._codelibrary.get_cubin().code)
