// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/run/temporary_directory.h"

#include <stdlib.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace cccl_cache::cli {

Expected<TemporaryDirectory> TemporaryDirectory::Make(size_t longest) {
  const char* named = std::getenv("TMPDIR");
  std::string failed;
  for (const std::string& place :
       {std::string(named == nullptr ? "" : named), std::string("/tmp")}) {
    // Processes of the program may have another working directory, so the path must be absolute.
    if (!place.starts_with('/')) continue;
    std::string directory = place + "/cccl-cache-run.XXXXXX";
    if (directory.size() > longest) continue;
    if (mkdtemp(directory.data()) != nullptr) return TemporaryDirectory(std::move(directory));
    failed += (failed.empty() ? "" : ", ") + place + ": " + std::strerror(errno);
  }
  return Error{CCCL_CACHE_UNAVAILABLE, "can't make a directory for it (" + failed + ")"};
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

}  // namespace cccl_cache::cli
