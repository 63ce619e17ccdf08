// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/mount_table.h"
#include "base/mutex.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/trusted_path.h"

namespace cccl_cache::daemon {

/// A library or bitcode file of an installation.
struct FoundFile {
  std::string found_as;  ///< path before symlinks are resolved; empty if there is no such file
  std::string path;      ///< path with symlinks resolved; empty if there is no such file

  [[nodiscard]] bool present() const { return !path.empty(); }
  auto operator<=>(const FoundFile&) const = default;
};

/// The files of one CUDA installation, found by their names. They were not read or checked yet.
struct Installation {
  std::string root;  ///< path with symlinks resolved
  int major = 0;
  int minor = 0;
  FoundFile nvrtc;
  FoundFile builtins;
  FoundFile nvjitlink;
  FoundFile nvvm;
  FoundFile libdevice;
  std::vector<HeaderDirectory> headers;  ///< in search order
  bool added = false;                    ///< a release that a user added: selected only by its id

  /// Returns whether both have the same files, even if under different paths.
  [[nodiscard]] bool SameFiles(const Installation& other) const;
  bool operator==(const Installation& other) const;
};

/// Detects changes of one installation. Watches by inotify all names that were looked up and all
/// directories that were listed, and watches the mount table for mounts over them. The object must
/// be made before the survey, so that it sees every change since.
///
/// The kernel queues an event before the system call that caused it returns. So Changed() sees
/// every change that was complete before, except a mount that was added and removed between two
/// calls. There are no events for writes through an earlier memory mapping or by other hosts. Those
/// are found by comparing stamps. Thread-safe after the survey.
class InstallationWatch final : public LookupObserver {
 public:
  InstallationWatch();

  void OnLookup(const std::string& directory, const std::string& name) override;
  void OnListing(const std::string& directory) override;

  /// Returns false if changes may be missed, because the kernel refused a watch
  /// (fs.inotify.max_user_watches, max_user_instances) or /proc is missing. Changed() must not be
  /// used then.
  [[nodiscard]] bool complete() const { return complete_; }
  /// Returns whether anything changed; once true, it stays true.
  [[nodiscard]] bool Changed();

 private:
  struct Directory {
    bool listed = false;  ///< true if a change of any name in the directory matters
    std::set<std::string, std::less<>> names;
    /// Returns whether a change of this name matters.
    [[nodiscard]] bool Has(std::string_view name) const;
  };

  Directory* Add(const std::string& directory);
  void Drain() REQUIRES(mutex_);
  [[nodiscard]] bool Counts(int watch, uint32_t mask, const char* name) const;
  [[nodiscard]] bool MountsChanged() REQUIRES(mutex_);
  /// Returns whether the mount point is a watched name, so that a mount there hides watched files.
  [[nodiscard]] bool Counts(const MountEntry& mount) const;

  const FileDescriptor inotify_;
  const FileDescriptor mount_table_;
  bool complete_ = true;
  std::map<int, Directory> directories_;  ///< keyed by watch; constant after the survey
  std::map<std::string, int> watches_;    ///< by path; several paths may lead to one watch
  std::atomic<bool> changed_{false};
  Mutex mutex_;  ///< held by the thread that reads the descriptors
  std::vector<MountEntry> mounts_
      GUARDED_BY(mutex_);  ///< all mounts before the survey; since the first comparison, only those
                           ///< over watched names
};

}  // namespace cccl_cache::daemon
