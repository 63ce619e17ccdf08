// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/worker/compilers/compiler_jobs.h"
#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {
namespace {

int AddModules(const WorkerJob& job, const NvvmLibrary& nvvm, const std::string& libdevice,
               NvvmLibrary::Program program) {
  for (const WorkerJob::Module& module : job.modules) {
    const auto add = module.lazy ? nvvm.lazy_add_module : nvvm.add_module;
    const int result =
        add(program, module.contents.data(), module.contents.size(), module.name.data());
    if (result != NvvmLibrary::kSuccess) return result;
  }
  if (!job.add_libdevice) return NvvmLibrary::kSuccess;
  return nvvm.lazy_add_module(program, libdevice.data(), libdevice.size(), "libdevice");
}

int Compile(const WorkerJob& job, const NvvmLibrary& nvvm, const std::string& libdevice,
            NvvmLibrary::Program& program) {
  int result = nvvm.create_program(&program);
  if (result == NvvmLibrary::kSuccess) result = AddModules(job, nvvm, libdevice, program);
  if (result != NvvmLibrary::kSuccess) return result;
  std::vector<const char*> options;
  for (const std::string_view option : job.options) options.push_back(option.data());
  return nvvm.compile_program(program, static_cast<int>(options.size()), options.data());
}

}  // namespace

Result<NvvmLibrary> NvvmLibrary::Open(const LibraryFiles& files) {
  Result<SharedLibrary> library = SharedLibrary::Open(files);
  if (!library) return library.error();
  NvvmLibrary nvvm{};
  library->Need("nvvmGetErrorString", nvvm.error_string);
  library->Need("nvvmCreateProgram", nvvm.create_program);
  library->Need("nvvmAddModuleToProgram", nvvm.add_module);
  library->Need("nvvmLazyAddModuleToProgram", nvvm.lazy_add_module);
  library->Need("nvvmCompileProgram", nvvm.compile_program);
  library->Need("nvvmGetCompiledResultSize", nvvm.result_size);
  library->Need("nvvmGetCompiledResult", nvvm.result);
  library->Need("nvvmGetProgramLogSize", nvvm.log_size);
  library->Need("nvvmGetProgramLog", nvvm.log);
  if (Status complete = library->Complete(); !complete) return complete.error();
  return nvvm;
}

WorkerReply RunNvvmJob(const WorkerJob& job, const NvvmLibrary& nvvm,
                       const std::string& libdevice) {
  WorkerReply reply;
  NvvmLibrary::Program program = nullptr;
  reply.native_code = Compile(job, nvvm, libdevice, program);
  reply.succeeded = reply.native_code == NvvmLibrary::kSuccess;
  if (program != nullptr) reply.log = CompilerText(nvvm.log_size, nvvm.log, program);
  if (!reply.succeeded) {
    reply.native_name = nvvm.error_string(reply.native_code);
    return reply;
  }
  const bool lto = std::ranges::find(job.options, "-gen-lto") != job.options.end();
  if (lto) {
    reply.parts.push_back(
        {ArtifactKind::kLtoIr, CompilerBytes(nvvm.result_size, nvvm.result, program)});
  } else {
    reply.parts.push_back(
        {ArtifactKind::kPtx, CompilerText(nvvm.result_size, nvvm.result, program)});
  }
  return reply;
}

}  // namespace cccl_cache::daemon
