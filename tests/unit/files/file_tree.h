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

/// A temporary directory that all users may read, and the objects that read it for clients. A
/// stranger is a client of another user than the daemon's. For strangers, the daemon has a uid that
/// owns none of the files. A failure fails the test.
class FileTree {
 public:
  FileTree();

  [[nodiscard]] std::string Path(std::string_view name) const { return directory_ / name; }
  void Write(const std::string& name, std::string_view contents) const;
  void Directory(const std::string& name) const;
  void Link(const std::string& name, const std::string& target) const;
  void Mode(const std::string& name, mode_t mode) const;
  /// Adds an access list that denies `uid` all rights, and is like mode 0755 for others.
  void ShutOut(const std::string& name, uid_t uid) const;
  [[nodiscard]] struct stat Status(const std::string& name) const;
  /// Returns the current stamp; of a symlink, that of the link itself.
  [[nodiscard]] ContentStamp Stamp(const std::string& name) const;
  /// Waits until a change of the file would be noticed.
  void Settle(const std::string& name) const;

  /// Returns the files for one build of the daemon's own user. `roots` are in the tree.
  [[nodiscard]] std::unique_ptr<RequesterFiles> Own(const std::vector<std::string>& roots);
  [[nodiscard]] std::unique_ptr<RequesterFiles> Strangers(const std::vector<std::string>& roots);
  [[nodiscard]] std::unique_ptr<RequesterFiles> With(Reach reach,
                                                     const std::vector<std::string>& roots);

  std::vector<std::string> refused;  ///< the daemon's own directories, for objects made later
  /// Treats changed files as written back at once.
  std::shared_ptr<FileMemory> memory = std::make_shared<FileMemory>(1000);

 private:
  TemporaryDirectory directory_;
};

/// Returns the expected error.
[[nodiscard]] Error ErrorOf(const Result<SeenFile>& seen);
[[nodiscard]] Error ErrorOf(const Result<RequesterFiles::Contents>& contents);

}  // namespace cccl_cache::daemon
