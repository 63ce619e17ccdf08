// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/file_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "daemon/core/model/file_descriptor.h"

namespace cccl_cache::daemon {
namespace {

bool IsStill(const FileDescriptor& fd, const FileStamp& stamp) {
  struct stat status {};
  return fstat(fd.get(), &status) == 0 && FileStamp::Of(status) == stamp;
}

}  // namespace

std::optional<cccl_cache::Digest> DigestOfFile(const SurveyedFile& file,
                                               const std::stop_token& stop) {
  // Read, not mapped: a file that shrinks under a mapping would kill the daemon.
  const FileDescriptor fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid() || !IsStill(fd, file.stamp)) return std::nullopt;
  std::vector<char> buffer(std::min<uint64_t>(file.stamp.size + 1, 1 << 20));
  cccl_cache::Hasher hasher;
  while (!stop.stop_requested()) {
    const ssize_t length = read(fd.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return std::nullopt;
    if (length == 0) {
      if (!IsStill(fd, file.stamp)) return std::nullopt;
      return hasher.Finish();
    }
    hasher.Append(std::string_view(buffer.data(), static_cast<size_t>(length)));
  }
  return std::nullopt;
}

}  // namespace cccl_cache::daemon
