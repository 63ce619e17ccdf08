// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/nvrtc_library.h"

#include <string>
#include <vector>

#include "daemon/worker/compilers/compiler_text.h"
#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {
namespace {

constexpr const char* kWarmUpSource =
    "extern \"C\" __global__ void warm_up(int* out) { *out = 1; }\n";

/// An option that makes the whole way to a cubin warm; none where the release can't say what it
/// knows.
std::vector<std::string> WarmUpOptions(const NvrtcLibrary& nvrtc) {
  int count = 0;
  if (nvrtc.supported_arch_count == nullptr || nvrtc.supported_archs == nullptr ||
      nvrtc.supported_arch_count(&count) != NvrtcLibrary::kSuccess || count <= 0) {
    return {};
  }
  std::vector<int> archs(static_cast<size_t>(count));
  if (nvrtc.supported_archs(archs.data()) != NvrtcLibrary::kSuccess) return {};
  return {"--gpu-architecture=sm_" + std::to_string(archs.front())};
}

}  // namespace

Result<NvrtcLibrary> NvrtcLibrary::Open(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(files);
  if (!library) return library.error();
  NvrtcLibrary nvrtc{};
  library->Need("nvrtcGetErrorString", nvrtc.error_string);
  library->Need("nvrtcCreateProgram", nvrtc.create_program);
  library->Need("nvrtcAddNameExpression", nvrtc.add_name_expression);
  library->Need("nvrtcCompileProgram", nvrtc.compile_program);
  library->Need("nvrtcGetProgramLogSize", nvrtc.log_size);
  library->Need("nvrtcGetProgramLog", nvrtc.log);
  library->Need("nvrtcGetLoweredName", nvrtc.lowered_name);
  library->Need("nvrtcGetPTXSize", nvrtc.ptx_size);
  library->Need("nvrtcGetPTX", nvrtc.ptx);
  library->Find("nvrtcGetCUBINSize", nvrtc.cubin_size);
  library->Find("nvrtcGetCUBIN", nvrtc.cubin);
  library->Find("nvrtcGetLTOIRSize", nvrtc.ltoir_size);
  library->Find("nvrtcGetLTOIR", nvrtc.ltoir);
  library->Find("nvrtcGetOptiXIRSize", nvrtc.optixir_size);
  library->Find("nvrtcGetOptiXIR", nvrtc.optixir);
  library->Find("nvrtcGetNumSupportedArchs", nvrtc.supported_arch_count);
  library->Find("nvrtcGetSupportedArchs", nvrtc.supported_archs);
  library->Find("nvrtcSetPCHHeapSize", nvrtc.set_pch_heap_size);
  library->Find("nvrtcGetPCHCreateStatus", nvrtc.pch_create_status);
  if (Status complete = library->Complete(); !complete) return complete.error();
  return nvrtc;
}

Status NvrtcLibrary::WarmUp() const {
  const std::vector<std::string> texts = WarmUpOptions(*this);
  std::vector<const char*> options;
  for (const std::string& text : texts) options.push_back(text.c_str());
  Program program = nullptr;
  int result = create_program(&program, kWarmUpSource, nullptr, 0, nullptr, nullptr);
  if (result == kSuccess) {
    result = compile_program(program, static_cast<int>(options.size()), options.data());
  }
  if (result == kSuccess) return Ok{};
  return Error{ErrorCode::kUnavailable, std::string("NVRTC can't compile a trivial kernel (") +
                                            error_string(result) +
                                            "): " + CompilerText(log_size, log, program)};
}

}  // namespace cccl_cache::daemon
