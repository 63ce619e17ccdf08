// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain_places.h"

namespace cccl_cache::daemon {

/// The files of a job whose worker can't open files itself (SandboxKind::kOpensNothing). Reads the
/// toolchain's headers from the disk, as a worker with Landlock would. Asks the job's own JobFiles
/// for all other files. JobFiles records the headers too, as for a worker that opens them itself.
/// Used by one thread at a time.
class ToolchainFiles final : public JobFiles {
 public:
  explicit ToolchainFiles(const CompileJob& job);

  Result<FileAnswer> Ask(std::string_view name) override;
  Status LookInToolchain(std::string_view name) override;

 private:
  /// Returns the real path of a file in the toolchain's header directories; none for a file
  /// elsewhere. Returns "" if the name contains ".." and the file does not exist.
  [[nodiscard]] std::optional<std::string> PathOf(std::string_view name) const;
  [[nodiscard]] Result<FileAnswer> Read(const std::string& path);
  [[nodiscard]] uint64_t IdentityOf(std::pair<uint64_t, uint64_t> inode);

  const ToolchainPlaces places_;
  const std::shared_ptr<JobFiles> others_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> identities_;
};

}  // namespace cccl_cache::daemon
