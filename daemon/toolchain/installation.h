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
  std::string found_as;  ///< path below the root under which it was found; empty: there is no such
                         ///< file
  std::string path;      ///< symlinks resolved

  [[nodiscard]] bool present() const { return !path.empty(); }
  auto operator<=>(const FoundFile&) const = default;
};

/// The files of one CUDA installation, found by name: not read, checked or identified yet.
struct Installation {
  std::string root;  ///< symlinks resolved
  int major = 0;
  int minor = 0;
  FoundFile nvrtc;
  FoundFile builtins;
  FoundFile nvjitlink;
  FoundFile nvvm;
  FoundFile libdevice;
  std::vector<HeaderDirectory> headers;  ///< in search order
  bool added = false;                    ///< a release that a user added: selected only by its id

  /// Returns whether both have the same files, under any names.
  [[nodiscard]] bool SameFiles(const Installation& other) const;
  bool operator==(const Installation& other) const;
};

/// Watches, by inotify, the names that were looked up and the directories that were listed, and the
/// mount table for mounts there. There is one watch per identified installation. It is made before
/// the survey, so that it sees every change since.
///
/// The kernel queues an event before the system call that caused it returns. So Changed() sees
/// every change that ended before the call, except a mount that was added and removed since the
/// last call. Writes through an earlier mapping and by other hosts cause no events; comparing
/// stamps finds those. Thread-safe after the survey.
class InstallationWatch final : public LookupObserver {
 public:
  InstallationWatch();

  void OnLookup(const std::string& directory, const std::string& name) override;
  void OnListing(const std::string& directory) override;

  /// Returns false if the kernel refused a watch (fs.inotify.max_user_watches, max_user_instances)
  /// or /proc is missing; then Changed() must not be used.
  [[nodiscard]] bool complete() const { return complete_; }
  /// Returns whether anything changed; once true, it stays true.
  [[nodiscard]] bool Changed();

 private:
  struct Directory {
    bool listed = false;  ///< true: a change of any name counts
    std::set<std::string, std::less<>> names;
    /// Returns whether a change of this name matters.
    [[nodiscard]] bool Has(std::string_view name) const;
  };

  Directory* Add(const std::string& directory);
  void Drain() REQUIRES(mutex_);
  [[nodiscard]] bool Counts(int watch, uint32_t mask, const char* name) const;
  [[nodiscard]] bool MountsChanged() REQUIRES(mutex_);
  /// Returns whether the mount covers, or would cover, a watched place.
  [[nodiscard]] bool Counts(const MountEntry& mount) const;

  const FileDescriptor inotify_;
  const FileDescriptor mount_table_;
  bool complete_ = true;
  std::map<int, Directory> directories_;  ///< keyed by watch; constant after the survey
  std::map<std::string, int> watches_;    ///< by path; several may be one directory
  std::atomic<bool> changed_{false};
  Mutex mutex_;  ///< held by the thread that reads the descriptors
  std::vector<MountEntry> mounts_
      GUARDED_BY(mutex_);  ///< before the survey; once compared, those that matter
};

}  // namespace cccl_cache::daemon
