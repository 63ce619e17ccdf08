// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/snapshot/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cccl_cache::daemon {
namespace {

Error Unwritable(int error) {
  return {ErrorCode::kUnavailable,
          fmt::format("the snapshot can't be received: the daemon's state directory can't be "
                      "written ({})",
                      std::strerror(error))};
}

// Snapshots are made once and fetched often; beyond this cubins gain little.
constexpr int kLevel = 12;

}  // namespace

Result<SpoolFile> SpoolFile::Create(const std::string& directory) {
  std::string path = directory + "/snapshot.XXXXXX";
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid() || unlink(path.c_str()) != 0) return Unwritable(errno);
  return SpoolFile(std::move(file));
}

Status SpoolFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = write(file_.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return Unwritable(errno);
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return Ok{};
}

Result<std::string> Compress(std::string_view bytes) {
  std::string stored(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size =
      ZSTD_compress(stored.data(), stored.size(), bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("{} bytes can't be compressed ({}): try again", bytes.size(),
                             ZSTD_getErrorName(size))};
  }
  stored.resize(size);
  return stored;
}

std::optional<std::string> Decompress(std::string_view stored, uint64_t bytes) {
  if (ZSTD_findFrameCompressedSize(stored.data(), stored.size()) != stored.size()) {
    return std::nullopt;
  }
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != bytes) return std::nullopt;
  std::string whole(bytes, '\0');
  const size_t size = ZSTD_decompress(whole.data(), whole.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) != 0 || size != bytes) return std::nullopt;
  return whole;
}

}  // namespace cccl_cache::daemon
