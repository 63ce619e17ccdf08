// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/files/contents.h"
#include "daemon/files/host_files.h"
#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon {

/// A tree of files that everybody may read, and requesters who look at it. Strangers ask a daemon
/// that owns none of it. Failures fail the test.
class FileTree {
 public:
  FileTree();

  [[nodiscard]] std::string Path(std::string_view name) const { return directory_ / name; }
  void Write(const std::string& name, std::string_view contents) const;
  void Directory(const std::string& name) const;
  void Link(const std::string& name, const std::string& target) const;
  void Mode(const std::string& name, mode_t mode) const;
  /// Gives it an access list by which `uid` has no rights; all else is as in mode 0755.
  void ShutOut(const std::string& name, uid_t uid) const;
  [[nodiscard]] struct stat Status(const std::string& name) const;
  /// Of the status as it is now, symlinks not followed.
  [[nodiscard]] ContentStamp Stamp(const std::string& name) const;
  /// Waits until a change of the file can't go unnoticed any more.
  void Settle(const std::string& name) const;

  /// For one build of the daemon's own user. `roots` lie in the tree.
  [[nodiscard]] std::unique_ptr<RequesterFiles> Own(const std::vector<std::string>& roots);
  [[nodiscard]] std::unique_ptr<RequesterFiles> Strangers(const std::vector<std::string>& roots);
  [[nodiscard]] std::unique_ptr<RequesterFiles> With(Reach reach,
                                                     const std::vector<std::string>& roots);

  std::vector<std::string> refused;  ///< the daemon's own directories, for requesters made later
  /// Takes files to be written back as soon as they are changed.
  std::shared_ptr<FileMemory> memory = std::make_shared<FileMemory>(1000);

 private:
  TemporaryDirectory directory_;
};

/// The error that is expected.
[[nodiscard]] Error ErrorOf(const Result<SeenFile>& seen);
[[nodiscard]] Error ErrorOf(const Result<RequesterFiles::Contents>& contents);

}  // namespace cccl_cache::daemon
