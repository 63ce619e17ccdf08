// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_stamp.h"
#include "base/mutex.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/system/blocking_pool.h"
#include "daemon/system/trusted_path.h"
#include "daemon/toolchain/installation.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

struct SurveyedFile {
  std::string name;  ///< name within its part: "builtins", "0/cub/cub.cuh"; not where it lies
  std::string path;  ///< absolute, symlinks resolved, except those inside a header directory
  ContentStamp stamp;
};

/// The files that are hashed together.
struct SurveyedPart {
  /// The part of the identity besides the files: which header directory lies in which other.
  std::string shape;
  std::vector<SurveyedFile> files;  ///< sorted by name
  bool linked = false;              ///< of headers: some files lie elsewhere than their names say
  /// Whether the stamp of each file stands for its contents, also later and for other processes.
  bool stamps_prove = true;
  Digest stamps;  ///< digest of names and stamps; differs after the machine was booted
  /// Of a library's part: DigestOfStamps, the library first; none: the stamps prove nothing.
  std::optional<Digest> component_stamp;
};

/// All files of one installation with their stamps, each found to be trusted.
struct Survey {
  SurveyedPart nvrtc;  ///< library and builtins
  SurveyedPart headers;
  SurveyedPart nvjitlink;
  SurveyedPart nvvm;                                ///< library and libdevice
  std::vector<HeaderDirectory> header_directories;  ///< with the aliases that can be trusted
  int64_t newest_change_ns = 0;
  /// Whether the local kernel reports every change of a file: no other host can write there.
  bool changes_are_reported = true;
  Digest stamps;  ///< digest over all parts and aliases
};

/// Reads the stamp of every file of an installation, not the files. The error names the file or
/// directory that can't be trusted, or is gone. A header directory named __pycache__ is skipped:
/// its contents depend on when Python ran, so the worker must not hand it to a compiler either.
[[nodiscard]] Result<Survey> TakeSurvey(const Installation& installation, uid_t own_uid,
                                        LookupObserver* observer);

/// Limits of the files in one header directory, and of its depth.
inline constexpr int kMaxHeaderFiles = 100'000;
inline constexpr int kMaxHeaderDepth = 32;

/// Called with each regular file: its name relative to the directory, its path, its status.
using HeaderVisitor =
    std::function<void(std::string name, std::string path, const struct statx& status)>;

/// Visits all regular files below a trusted directory in no order, through symlinks too. Returns an
/// error if anything in it can't be trusted or the tree is too large.
[[nodiscard]] Status WalkHeaderTree(const TrustedPath& directory, uid_t own_uid,
                                    LookupObserver* observer, const HeaderVisitor& visit);

/// Compares the files of one toolchain with their identified state, on threads that may hang, and
/// publishes the result for threads that may not. For toolchains whose changes the kernel does not
/// report. Thread-safe; owned by shared_ptr, because a hanging thread keeps it alive.
class StampComparison : public std::enable_shared_from_this<StampComparison> {
 public:
  /// How long a result is valid, from the comparison's end.
  static constexpr std::chrono::milliseconds kCounts{1'000};
  /// The age of a result at which another comparison is due, so that busy callers never wait for
  /// one.
  static constexpr std::chrono::milliseconds kDue{500};

  enum class Verdict {
    kSame,
    kChanged,  ///< permanent
    kExpired,  ///< the last result is too old, and the next is not there yet
    kHangs,    ///< the file system did not answer in time and counts as hanging
  };

  /// `differ` compares the files and may hang; it uses only what it owns.
  explicit StampComparison(std::function<bool()> differ) : differ_(std::move(differ)) {}

  /// Returns the published result; never waits.
  [[nodiscard]] Verdict Known() const;
  /// Returns whether no comparison is queued and the last result is old enough for another.
  [[nodiscard]] bool Due() const;

  /// Compares on this thread and publishes the result. Returns whether the files differ.
  bool Differ();
  /// Compares on a thread of `threads`, where a toolchain stands for a user, and publishes the
  /// result. `done` is called once, on another thread or this one: after a comparison that began
  /// after this call, or when the file system hangs. Calls that come before a comparison begins
  /// share it.
  void Begin(BlockingPool& threads, uint64_t serial, std::function<void()> done);

 private:
  struct Round;

  /// Closes the round to further callers.
  void Forget(const std::shared_ptr<Round>& round);
  [[nodiscard]] std::chrono::steady_clock::duration Age() const;

  const std::function<bool()> differ_;
  std::atomic<bool> changed_{false};
  std::atomic<bool> hangs_{false};
  std::atomic<std::chrono::steady_clock::time_point> compared_at_{std::chrono::steady_clock::now()};

  mutable Mutex mutex_;
  std::shared_ptr<Round> next_ GUARDED_BY(mutex_);  ///< queued and not begun
};

}  // namespace cccl_cache::daemon
