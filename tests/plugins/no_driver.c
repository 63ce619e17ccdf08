// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for machines without a driver: cuda.compute's library links one, and compiles without calling it.
// nvmath-python wants to know which CUDA it is for.
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}

#define NO_DEVICE(function) \
  int function(void) { return 100; }

NO_DEVICE(cuCtxGetCurrent)
NO_DEVICE(cuCtxGetDevice)
NO_DEVICE(cuCtxPopCurrent_v2)
NO_DEVICE(cuCtxPushCurrent_v2)
NO_DEVICE(cuDeviceGet)
NO_DEVICE(cuDeviceGetAttribute)
NO_DEVICE(cuDevicePrimaryCtxRetain)
NO_DEVICE(cuFuncGetAttribute)
NO_DEVICE(cuFuncSetAttribute)
NO_DEVICE(cuGetErrorString)
NO_DEVICE(cuInit)
NO_DEVICE(cuKernelGetFunction)
NO_DEVICE(cuLaunchKernel)
NO_DEVICE(cuLaunchKernelEx)
NO_DEVICE(cuLibraryGetKernel)
NO_DEVICE(cuLibraryLoadData)
NO_DEVICE(cuLibraryUnload)
NO_DEVICE(cuMemcpyAsync)
NO_DEVICE(cuMemsetD8Async)
NO_DEVICE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
