// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/toolchain/trusted_path.h"

namespace cccl_cache::daemon {

/// A library or bitcode file of an installation.
struct FoundFile {
  std::string
      found_as;      ///< as it was looked up below the installation's root; empty: there is none
  std::string path;  ///< symlinks resolved

  [[nodiscard]] bool present() const { return !path.empty(); }
  auto operator<=>(const FoundFile&) const = default;
};

/// The parts of one CUDA by name, before anybody looked into them: neither trusted nor identified
/// yet.
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

  /// Whether both are made of the same files, whatever they are called.
  [[nodiscard]] bool SameFiles(const Installation& other) const;
  bool operator==(const Installation& other) const;
};

/// Notices through inotify that a name which was looked up, or a directory which was listed,
/// changed. One instance per identified installation: made before its survey, it hears of every
/// change since.
///
/// The kernel queues an event before the system call that caused it returns, so Changed() knows of
/// whatever ended before it was called. What inotify can't show (writes through a mapping that was
/// made earlier, another host's writes, a mount on top) is left to the comparison of stamps.
/// Thread-safe once the survey is over.
class InstallationWatch final : public LookupObserver {
 public:
  InstallationWatch();

  void OnLookup(const std::string& directory, const std::string& name) override;
  void OnListing(const std::string& directory) override;

  /// False: the kernel refused a watch (fs.inotify.max_user_watches, max_user_instances), so that
  /// Changed() means nothing.
  [[nodiscard]] bool complete() const { return complete_; }
  /// Once true, for ever true.
  [[nodiscard]] bool Changed();

 private:
  struct Directory {
    bool listed = false;  ///< every name counts
    std::set<std::string, std::less<>> names;
  };

  Directory* Add(const std::string& directory);
  void Drain();
  [[nodiscard]] bool Counts(int watch, uint32_t mask, const char* name) const;

  const FileDescriptor inotify_;
  bool complete_ = true;
  std::map<int, Directory> directories_;  ///< by watch; constant after the survey

  std::atomic<bool> changed_{false};
  std::mutex mutex_;  ///< one reader of inotify_ at a time
};

}  // namespace cccl_cache::daemon
