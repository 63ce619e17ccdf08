# SPDX-FileCopyrightText: the cccl-cached authors
# SPDX-License-Identifier: Apache-2.0
"""nvmath-python: an FFT in a kernel of numba-cuda"""

import numpy

PACKAGES = ("nvmath-python[cu13-dx]",)
REACHES = "NVRTC (libmathdx), linked"


def on_gpu(number=1):
    from numba import cuda
    from nvmath.device import FFT

    size, per_thread = 64 << number, 8
    fft = FFT(fft_type="c2c", size=size, precision=numpy.float32, direction="forward", elements_per_thread=per_thread,
              ffts_per_block=1, execution="Block")
    value_type, storage, stride = fft.value_type, fft.storage_size, fft.stride

    @cuda.jit
    def transform(data):
        values = cuda.local.array(shape=(storage,), dtype=value_type)
        shared = cuda.shared.array(shape=(0,), dtype=value_type)
        for each in range(per_thread):
            values[each] = data[cuda.threadIdx.y, cuda.threadIdx.x + each * stride]
        fft.execute(values, shared)
        for each in range(per_thread):
            data[cuda.threadIdx.y, cuda.threadIdx.x + each * stride] = values[each]

    given = (numpy.arange(size) % 7 + 1j * (numpy.arange(size) % 5)).astype(numpy.complex64).reshape(1, size)
    array = cuda.to_device(given)
    transform[1, fft.block_dim, 0, fft.shared_memory_size](array)
    result = array.copy_to_host()
    assert numpy.allclose(result, numpy.fft.fft(given), rtol=1e-3, atol=1e-2)
    return [result]


def without_gpu(number=1):
    """Makes the code of two FFTs, which nvmath-python then links with a kernel."""
    from nvmath.bindings import mathdx

    kinds = mathdx.CufftdxOperatorType
    made = []
    for size in (32 << number, 64 << number):
        fft = mathdx.cufftdx_create_descriptor()
        for kind, value in ((kinds.API, mathdx.CufftdxApi.LMEM), (kinds.SM, 900), (kinds.SIZE, size),
                            (kinds.PRECISION, mathdx.CommondxPrecision.F32), (kinds.TYPE, mathdx.CufftdxType.C2C),
                            (kinds.DIRECTION, mathdx.CufftdxDirection.FORWARD),
                            (kinds.EXECUTION, mathdx.CommondxExecution.BLOCK)):
            mathdx.cufftdx_set_operator_int64(fft, kind, value)
        code = mathdx.commondx_create_code()
        mathdx.commondx_set_code_option_int64(code, mathdx.CommondxOption.TARGET_SM, 900)
        mathdx.commondx_set_code_option_str(code, mathdx.CommondxOption.EXTRA_NVRTC_ARGS, "-gen-opt-lto")
        mathdx.cufftdx_finalize_code(code, fft)
        ltoir = numpy.zeros(mathdx.commondx_get_code_ltoir_size(code), numpy.uint8)
        mathdx.commondx_get_code_ltoir(code, ltoir.size, ltoir.ctypes.data)
        made.append(ltoir)
    return made


if __name__ == "__main__":
    print(on_gpu())
