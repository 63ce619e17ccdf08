// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A module for tvm_ffi_scale.py and flashinfer_scale.py.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include "more.h"

#ifndef EXTRA
#define EXTRA 0
#endif

constexpr float FACTOR = 3;

__global__ void Scale(const float* x, float* y) {
  y[threadIdx.x] = FACTOR * x[threadIdx.x] + MORE + EXTRA;
}

void Run(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(x.device().device_type, x.device().device_id));
  Scale<<<1, x.numel(), 0, stream>>>(static_cast<float*>(x.data_ptr()), static_cast<float*>(y.data_ptr()));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(scale, Run);
