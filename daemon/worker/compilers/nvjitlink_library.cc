// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/nvjitlink_library.h"

#include <iterator>

#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {
namespace {

/// In the order of nvJitLinkResult, from 0.
constexpr const char* kResultNames[] = {
    "NVJITLINK_SUCCESS",
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
    "NVJITLINK_ERROR_MISSING_ARCH",
    "NVJITLINK_ERROR_INVALID_INPUT",
    "NVJITLINK_ERROR_PTX_COMPILE",
    "NVJITLINK_ERROR_NVVM_COMPILE",
    "NVJITLINK_ERROR_INTERNAL",
    "NVJITLINK_ERROR_THREADPOOL",
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
    "NVJITLINK_ERROR_FINALIZE",
    "NVJITLINK_ERROR_NULL_INPUT",
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
    "NVJITLINK_ERROR_ARCH_MISMATCH",
    "NVJITLINK_ERROR_OUTDATED_LIBRARY",
    "NVJITLINK_ERROR_MISSING_FATBIN",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
    "NVJITLINK_ERROR_LTO_NOT_ENABLED",
};

}  // namespace

const char* NvJitLinkLibrary::ResultName(int result) {
  if (result < 0 || static_cast<size_t>(result) >= std::size(kResultNames)) {
    return "NVJITLINK_ERROR";
  }
  return kResultNames[result];
}

Result<NvJitLinkLibrary> NvJitLinkLibrary::Open(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(files);
  if (!library) return library.error();
  NvJitLinkLibrary nvjitlink{};
  library->Need("nvJitLinkCreate", nvjitlink.create);
  library->Need("nvJitLinkAddData", nvjitlink.add_data);
  library->Need("nvJitLinkComplete", nvjitlink.complete);
  library->Need("nvJitLinkGetLinkedCubinSize", nvjitlink.cubin_size);
  library->Need("nvJitLinkGetLinkedCubin", nvjitlink.cubin);
  library->Need("nvJitLinkGetLinkedPtxSize", nvjitlink.ptx_size);
  library->Need("nvJitLinkGetLinkedPtx", nvjitlink.ptx);
  library->Need("nvJitLinkGetErrorLogSize", nvjitlink.error_log_size);
  library->Need("nvJitLinkGetErrorLog", nvjitlink.error_log);
  library->Need("nvJitLinkGetInfoLogSize", nvjitlink.info_log_size);
  library->Need("nvJitLinkGetInfoLog", nvjitlink.info_log);
  if (Status complete = library->Complete(); !complete) return complete.error();
  return nvjitlink;
}

}  // namespace cccl_cache::daemon
