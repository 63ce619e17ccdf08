// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/precompiled_header.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kBlockBytes = 512;  // of st_blocks, on every file system

Error Failed(const char* what) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("{} a precompiled header: {}", what, strerror(errno))};
}

}  // namespace

Result<PchDraft> PchDraft::Make() {
  FileDescriptor memory(memfd_create("cccl-cached-pch", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid()) return Failed("making");
  return PchDraft(std::move(memory));
}

Result<std::shared_ptr<const Precompiled>> PchDraft::Seal(
    const std::shared_ptr<Zygote>& zygote) && {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fcntl(memory_.get(), F_ADD_SEALS, kSeals) != 0) return Failed("sealing");
  struct stat status;
  if (fstat(memory_.get(), &status) != 0) return Failed("looking at");
  if (status.st_size == 0) {
    return Error{ErrorCode::kUnavailable, "the compiler wrote no precompiled header"};
  }
  // What was left out of it, or put behind its end, takes memory sooner or later too.
  const uint64_t bytes = std::max(static_cast<uint64_t>(status.st_size),
                                  static_cast<uint64_t>(status.st_blocks) * kBlockBytes);
  return std::shared_ptr<const Precompiled>(
      std::make_shared<const PrecompiledHeader>(std::move(memory_), bytes, zygote));
}

std::shared_ptr<Zygote> PrecompiledHeader::zygote() const {
  std::shared_ptr<Zygote> zygote = zygote_.lock();
  return zygote != nullptr && zygote->Usable() ? zygote : nullptr;
}

FileDescriptor PrecompiledHeader::OpenForWorker() const {
  // A descriptor of its own: those that share one share its offset.
  const std::string path = fmt::format("/proc/self/fd/{}", memory_.get());
  return FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace cccl_cache::daemon
