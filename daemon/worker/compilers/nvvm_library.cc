// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/nvvm_library.h"

#include "daemon/worker/compilers/shared_library.h"

namespace cccl_cache::daemon {

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

}  // namespace cccl_cache::daemon
