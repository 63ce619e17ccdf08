// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/identity_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/file_descriptor.h"
#include "daemon/system/trusted_path.h"
#include "daemon/toolchain/survey.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {
namespace {

/// Longest fact: the digests of as many headers as a header directory may hold.
constexpr size_t kMaxValueBytes = (kMaxHeaderFiles + 1) * sizeof(Digest::bytes);

/// Returns nothing on an error, or if the file is larger than a fact.
std::optional<std::string> ReadValue(int file) {
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (status.st_size > static_cast<off_t>(kMaxValueBytes)) return std::nullopt;
  std::string value(static_cast<size_t>(status.st_size), '\0');
  size_t length = 0;
  while (length < value.size()) {
    const ssize_t got = read(file, value.data() + length, value.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    length += static_cast<size_t>(got);
  }
  value.resize(length);
  return value;
}

bool WriteValue(int file, std::string_view value) {
  while (!value.empty()) {
    const ssize_t written = write(file, value.data(), value.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    value.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::string IdentityCache::DefaultDirectory(std::string_view cache_home, std::string_view home) {
  // The base directory specification ignores relative paths.
  if (cache_home.starts_with('/')) return std::string(cache_home) + "/cccl-cache";
  if (home.starts_with('/')) return std::string(home) + "/.cache/cccl-cache";
  return {};
}

std::optional<std::string> IdentityCache::GetMeta(std::string_view name) {
  if (!Trusted()) return std::nullopt;
  const FileDescriptor file(
      open(PathOf(name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  return ReadValue(file.get());
}

void IdentityCache::PutMeta(std::string_view name, std::string_view value) {
  if (directory_.empty()) return;
  mkdir(directory_.substr(0, directory_.rfind('/')).c_str(), 0700);
  mkdir(directory_.c_str(), 0700);
  if (!Trusted()) return;
  // The file has a name of its own until it is whole: another process may use the final name
  // meanwhile.
  const std::string path = PathOf(name);
  std::string draft = path + ".XXXXXX";
  const FileDescriptor file(mkostemp(draft.data(), O_CLOEXEC));
  if (!file.valid()) return;
  if (!WriteValue(file.get(), value) || rename(draft.c_str(), path.c_str()) != 0) {
    unlink(draft.c_str());
  }
}

bool IdentityCache::Trusted() const {
  if (directory_.empty()) return false;
  const Result<TrustedPath> followed =
      FollowTrusted(directory_, geteuid(), PathRole::kPassedThrough, nullptr);
  return followed.ok() && S_ISDIR(followed->status.st_mode);
}

std::string IdentityCache::PathOf(std::string_view name) const {
  std::string file(name);
  std::ranges::replace(file, '/', '-');
  return directory_ + "/" + file;
}

}  // namespace cccl_cache::daemon
