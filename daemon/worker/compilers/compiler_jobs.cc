// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/compilers/compiler_jobs.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
namespace {

constexpr size_t kMaxLibdeviceBytes = 64 << 20;

Result<std::string> ReadLibdevice(const std::string& path) {
  const auto error = [&](const char* reason) {
    return Error{ErrorCode::kUnavailable, "reading " + path + ": " + reason};
  };
  const int opened = real_files::Open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (opened < 0) return error(strerror(-opened));
  const FileDescriptor file(opened);
  std::optional<std::string> bytes = ReadAll(file.get(), kMaxLibdeviceBytes + 1);
  if (!bytes) return error(strerror(errno));
  if (bytes->size() > kMaxLibdeviceBytes) return error("it is not a libdevice");
  return *std::move(bytes);
}

template <typename Library>
Status OpenInto(std::optional<Library>& library, const std::optional<LibraryFiles>& files) {
  if (!files) return Ok{};
  Result<Library> opened = Library::Open(*files);
  if (!opened) return opened.error();
  library = std::move(*opened);
  return Ok{};
}

WorkerReply NoLibrary(const char* name) {
  return {.native_code = -1,
          .native_name = "NO_LIBRARY",
          .log = std::string("the toolchain has no ") + name};
}

}  // namespace

Result<CompilerLibraries> CompilerLibraries::Load(const ZygoteHello& hello) {
  CompilerLibraries libraries;
  if (Status opened = OpenInto(libraries.nvrtc, hello.nvrtc); !opened) return opened.error();
  if (Status opened = OpenInto(libraries.nvjitlink, hello.nvjitlink); !opened) {
    return opened.error();
  }
  if (Status opened = OpenInto(libraries.nvvm, hello.nvvm); !opened) return opened.error();
  if (!hello.libdevice.empty()) {
    Result<std::string> libdevice = ReadLibdevice(hello.libdevice);
    if (!libdevice) return libdevice.error();
    libraries.libdevice = std::move(*libdevice);
  }
  return libraries;
}

WorkerReply RunCompilerJob(const WorkerJob& job, const CompilerLibraries& libraries, PchUse pch) {
  switch (job.kind) {
    case BuildKind::kNvrtc:
      return libraries.nvrtc ? RunNvrtcJob(job, *libraries.nvrtc, pch) : NoLibrary("NVRTC");
    case BuildKind::kLink:
      return libraries.nvjitlink ? RunLinkJob(job, *libraries.nvjitlink) : NoLibrary("nvJitLink");
    case BuildKind::kNvvm:
      return libraries.nvvm ? RunNvvmJob(job, *libraries.nvvm, libraries.libdevice)
                            : NoLibrary("libNVVM");
  }
  return NoLibrary("compiler of that kind");
}

}  // namespace cccl_cache::daemon
