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

/// Identifies a text or binary of a request without its contents, so that two builds can be
/// compared.
struct ContentMark {
  std::string name;
  Digest digest;
  uint64_t lines = 0;  ///< number of lines of a text; 0 for a binary
  uint32_t form = 0;   ///< for an input of a link its type; 1 for a libNVVM module that is added
                       ///< lazily

  bool operator==(const ContentMark&) const = default;
};

/// One directory in which a build looks for headers.
struct SearchDirectory {
  std::string shown;  ///< as the client wrote it
  /// The part that every fingerprint covers: "nowhere", "outside", or the place in the toolchain.
  /// Builds in which it differs have different fingerprints.
  std::string meaning;
  std::string path;  ///< absolute path; the fingerprint covers it only if the build is
                     ///< path-dependent

  bool operator==(const SearchDirectory&) const = default;
};

/// The properties of a build in which it may differ from another build. They take little memory, so
/// that many builds can be kept.
struct PastBuild {
  BuildKind kind = BuildKind::kNvrtc;
  std::string program;     ///< base name of the program; only for NVRTC
  std::string shown_name;  ///< see ShownName()
  ContentMark source;      ///< only for NVRTC
  std::vector<ContentMark> headers;
  std::vector<std::string> name_expressions;
  std::vector<ContentMark> inputs;   ///< the inputs of a link, or the modules for libNVVM
  std::vector<std::string> options;  ///< in their canonical forms, without options that name
                                     ///< directories
  std::vector<SearchDirectory> directories;
  bool path_dependent = false;
  /// The options, in their canonical forms, because of which the output contains paths.
  std::vector<std::string> path_options;
  std::string working_directory;
  Digest compiler;        ///< id of the compiler library
  std::string toolchain;  ///< version and beginning of the id, for display
  std::vector<std::string> client_prefixes;
  /// Null: not known yet, or too large to be kept.
  std::shared_ptr<const Closure> closure;

  Digest fingerprint;
  Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::string reason;  ///< why the build is uncacheable or failed; empty otherwise
  std::chrono::system_clock::time_point time;
  std::chrono::microseconds compile_time{0};

  /// Returns whether the outcome shows that the artifact was put into the tiers.
  [[nodiscard]] bool kept() const {
    return outcome == Outcome::kBuilt || outcome == Outcome::kJoined;
  }
};
using PastBuildPtr = std::shared_ptr<const PastBuild>;

/// Returns the properties that are known from a plan: all except `closure`, `outcome`, `reason` and
/// `time`.
[[nodiscard]] PastBuild MarkOf(const BuildPlan& plan);

/// Returns the path of a file as the client of this build would write it.
[[nodiscard]] std::string ClientPath(const PastBuild& build, const FileName& name);

/// Returns a name for display: the last part of the program's name, or of the name of the first
/// input of a link or of libNVVM. The client chose it. It is UTF-8 of at most 64 bytes.
[[nodiscard]] std::string ShownName(const BuildRequest& request);

/// Return the size in memory, in bytes. The size of a build does not include its closure.
[[nodiscard]] size_t FootprintOf(const PastBuild& build);
[[nodiscard]] size_t FootprintOf(const Closure& closure);

/// A build of one user.
struct UsersBuild {
  uid_t uid = 0;
  PastBuildPtr build;  ///< never null
};

/// The last compiled builds of each user, which `explain` compares with. They are only in memory,
/// and a user sees only builds of the same uid. The bytes of each account and the total bytes are
/// limited. If an account is full, its oldest builds are dropped. If the total is too large, the
/// account with the most bytes loses builds. Within an account, the user with the most bytes loses
/// the oldest build. Thread-safe.
class BuildHistory {
 public:
  /// One account may use at most 1/kShares of the capacity. One user may have at most kMaxBuilds
  /// builds.
  static constexpr size_t kShares = 8;
  static constexpr size_t kMaxBuilds = 256;

  explicit BuildHistory(size_t capacity_bytes)
      : share_(capacity_bytes / kShares), usage_({share_, capacity_bytes}) {}

  /// Adds a build that was compiled for this user. If its closure is too large, the build is kept
  /// without it. A build that is itself too large is not kept, nor is a build of the overflow uid,
  /// which many people may have.
  void Add(uid_t uid, Account account, PastBuild build);

  [[nodiscard]] bool Knows(uid_t uid, const Digest& key) const;
  /// Returns this user's builds, the newest first.
  [[nodiscard]] std::vector<PastBuildPtr> Of(uid_t uid) const;

  /// Returns the builds that were compiled for this user, or without `uid` for all users, and not
  /// only joined: the longest compiles first, at most `most`.
  [[nodiscard]] std::vector<UsersBuild> Dearest(std::optional<uid_t> uid, size_t most) const;

  [[nodiscard]] size_t bytes() const;

 private:
  struct User {
    std::deque<PastBuildPtr> newest_first;      // never empty
    std::map<const Closure*, size_t> closures;  // how many of these builds share each closure
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
