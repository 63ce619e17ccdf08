// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/files/trusted_directories.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/core/model/file_descriptor.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/worker/files/lexical_path.h"
#include "daemon/worker/files/real_files.h"

namespace cccl_cache::daemon {
TrustedDirectories::TrustedDirectories(std::vector<std::string> directories)
    : directories_(std::move(directories)) {
  for (std::string& directory : directories_) directory = LexicallyNormal(directory);
}

bool TrustedDirectories::Contain(std::string_view normal_path) const {
  return std::ranges::any_of(directories_, [&](const std::string& directory) {
    return LiesInHeaders(normal_path, directory);
  });
}

bool TrustedDirectories::ContainAllTheWay(std::string_view path) const {
  if (!GoesUp(path)) return Contain(path);
  constexpr std::string_view kUp = "/..";
  for (size_t up = path.find(kUp); up != std::string_view::npos; up = path.find(kUp, up + 1)) {
    const size_t end = up + kUp.size();
    if (end != path.size() && path[end] != '/') continue;  // "/..hidden"
    if (!Contain(LexicallyNormal(path.substr(0, up))) ||
        !Contain(LexicallyNormal(path.substr(0, end)))) {
      return false;
    }
  }
  return Contain(LexicallyNormal(path));
}

TrustedDirectories::Verdict TrustedDirectories::Judge(const std::string& directory) {
  const auto known = verdicts_.find(directory);
  if (known != verdicts_.end()) return known->second;
  const Verdict verdict = Look(directory);
  verdicts_.emplace(directory, verdict);
  return verdict;
}

TrustedDirectories::Verdict TrustedDirectories::Look(const std::string& directory) {
  const FileDescriptor fd(
      real_files::Open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  // What the sandbox does not open is not the toolchain's.
  if (fd.get() == -EACCES) return Verdict::kElsewhere;
  if (!fd.valid()) return Verdict::kAbsent;
  const std::string real_path = real_files::PathOf(fd.get());
  if (real_path.empty()) return Verdict::kElsewhere;
  if (Seen(real_path)) return Verdict::kTrusted;
  if (!GoesUp(directory) && Contain(directory)) {
    linked_.push_back(real_path);
    return Verdict::kTrusted;
  }
  FollowPrefixes(directory);
  return Seen(real_path) ? Verdict::kTrusted : Verdict::kElsewhere;
}

void TrustedDirectories::FollowPrefixes(std::string_view directory) {
  const std::string_view down = directory.substr(0, directory.find("/../"));
  std::string prefix(down.ends_with("/..") ? down.substr(0, down.size() - 3) : down);
  for (; !prefix.empty() && Contain(prefix); prefix.resize(prefix.rfind('/'))) {
    [[maybe_unused]] const Verdict verdict = Judge(prefix);
  }
}

bool TrustedDirectories::Seen(std::string_view real_path) const {
  return Contain(real_path) || std::ranges::any_of(linked_, [&](const std::string& directory) {
           return LiesInHeaders(real_path, directory);
         });
}

}  // namespace cccl_cache::daemon
