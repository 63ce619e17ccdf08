// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_toolchain/mapped_control.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace fake_toolchain {

Control* MapControl() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&MapControl), &info) == 0 || info.dli_fname == nullptr)
    return nullptr;
  std::string folder = info.dli_fname;
  // A library is one folder (lib) or two (nvvm/lib64) below the root.
  for (int level = 0; level < 3; ++level) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return nullptr;
    folder.resize(slash);
    // A direct system call, because the worker replaces open() for compilers.
    const long fd =
        syscall(SYS_openat, AT_FDCWD, (folder + "/control").c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    void* memory =
        mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
    syscall(SYS_close, fd);
    return memory == MAP_FAILED ? nullptr : static_cast<Control*>(memory);
  }
  return nullptr;
}

}  // namespace fake_toolchain
