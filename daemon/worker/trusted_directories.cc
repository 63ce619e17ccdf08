// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/trusted_directories.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "daemon/core/file_descriptor.h"
#include "daemon/worker/lexical_path.h"
#include "daemon/worker/real_files.h"

namespace cccl_cached {

TrustedDirectories::TrustedDirectories(std::vector<std::string> directories)
    : directories_(std::move(directories)) {
  for (std::string& directory : directories_) directory = LexicallyNormal(directory);
}

bool TrustedDirectories::Contain(std::string_view normal_path) const {
  return std::ranges::any_of(
      directories_, [&](const std::string& directory) { return LiesIn(normal_path, directory); });
}

TrustedDirectories::Verdict TrustedDirectories::Judge(const std::string& directory) {
  const auto known = verdicts_.find(directory);
  if (known != verdicts_.end()) return known->second;
  const FileDescriptor fd(real_files::Open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
  Verdict verdict = Verdict::kAbsent;
  if (fd.valid()) {
    verdict = Contain(real_files::PathOf(fd.get())) ? Verdict::kTrusted : Verdict::kElsewhere;
  }
  verdicts_.emplace(directory, verdict);
  return verdict;
}

}  // namespace cccl_cached
