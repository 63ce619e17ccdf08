// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "daemon/core/closure/closure.h"
#include "daemon/core/model/account.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Identifies a text or binary of a request without its contents, to compare it with another.
struct ContentMark {
  std::string name;
  Digest digest;
  uint64_t lines = 0;  ///< of a text; 0 for binaries
  uint32_t form = 0;   ///< a link input's type; 1 for a module added lazily

  bool operator==(const ContentMark&) const = default;
};

/// One directory of the search order.
struct SearchDirectory {
  std::string shown;  ///< as the client wrote it
  /// The part that every fingerprint covers. Builds with different parts differ.
  std::string meaning;
  std::string path;  ///< absolute; only a path-dependent build's fingerprint covers it

  bool operator==(const SearchDirectory&) const = default;
};

/// The parts of a build that can differ from another build, small enough to be kept for a while.
struct PastBuild {
  BuildKind kind = BuildKind::kNvrtc;
  std::string program;  ///< NVRTC: base name
  ContentMark source;   ///< NVRTC
  std::vector<ContentMark> headers;
  std::vector<std::string> name_expressions;
  std::vector<ContentMark> inputs;   ///< of a link, or the modules of libNVVM
  std::vector<std::string> options;  ///< canonical, without directories
  std::vector<SearchDirectory> directories;
  bool path_dependent = false;
  /// Canonical. The options that make the output show paths.
  std::vector<std::string> path_options;
  std::string working_directory;
  Digest compiler;        ///< identity of the library
  std::string toolchain;  ///< version and id, for a person
  std::vector<std::string> client_prefixes;
  /// Null: not known yet, or too large to be kept.
  std::shared_ptr<const Closure> closure;

  Digest fingerprint;
  Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::string reason;  ///< why uncacheable or failed
  std::chrono::system_clock::time_point time;

  /// Returns whether the outcome shows that the artifact was put into the tiers.
  [[nodiscard]] bool kept() const {
    return outcome == Outcome::kBuilt || outcome == Outcome::kJoined;
  }
};
using PastBuildPtr = std::shared_ptr<const PastBuild>;

/// Returns the parts that a plan has: all except closure, outcome and time.
[[nodiscard]] PastBuild MarkOf(const BuildPlan& plan);

/// Returns the file's path with the names of this build's client.
[[nodiscard]] std::string ClientPath(const PastBuild& build, const FileName& name);

/// Return the bytes in memory; for a build without its closure.
[[nodiscard]] size_t FootprintOf(const PastBuild& build);
[[nodiscard]] size_t FootprintOf(const Closure& closure);

/// The last compiled builds of each user, in memory only, with which `explain` compares. A user
/// sees only that user's own builds. The bytes are limited, for each account and in total. An
/// account over its share loses its own oldest build. Over the total, the account with the most
/// bytes loses its oldest build. Within an account, the user with the most bytes loses it.
/// Thread-safe.
class BuildHistory {
 public:
  /// One account may have one part in kShares of the capacity, and one user at most kMaxBuilds
  /// builds.
  static constexpr size_t kShares = 8;
  static constexpr size_t kMaxBuilds = 256;

  explicit BuildHistory(size_t capacity_bytes)
      : share_(capacity_bytes / kShares), usage_({share_, capacity_bytes}) {}

  /// Adds a build. A closure that is too large is left out, and a build that is too large is
  /// dropped. Nothing is recorded for the overflow uid, which stands for many users.
  void Add(uid_t uid, Account account, PastBuild build);

  [[nodiscard]] bool Knows(uid_t uid, const Digest& key) const;
  /// Returns this user's builds, the newest first.
  [[nodiscard]] std::vector<PastBuildPtr> Of(uid_t uid) const;

  [[nodiscard]] size_t bytes() const;

 private:
  struct User {
    std::deque<PastBuildPtr> newest_first;      // never empty
    std::map<const Closure*, size_t> closures;  // number of builds that share each closure
    size_t bytes = 0;
  };

  void ShareClosure(uid_t uid, PastBuild* build) const REQUIRES(mutex_);
  [[nodiscard]] size_t Cost(uid_t uid, const PastBuild& build) const REQUIRES(mutex_);
  void DropOldest(uid_t uid) REQUIRES(mutex_);

  const size_t share_;
  mutable Mutex mutex_;
  std::map<uid_t, User> users_ GUARDED_BY(mutex_);
  AccountUsage usage_ GUARDED_BY(mutex_);
};

}  // namespace cccl_cache::daemon
