// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/explain/difference.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/digest_prefix.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Why a build is, or was, compiled. Sent over the wire: values never change, and are those in
/// admin.proto.
enum class Verdict : uint8_t {
  kHit = 1,          ///< not compiled: `tier` has it
  kNeverSeen = 2,    ///< no earlier build of this user's resembles it
  kDiffers = 3,      ///< from the nearest earlier build in `differences`
  kEvicted = 4,      ///< its entry was dropped at `since` to keep within the limit
  kCorrupt = 5,      ///< its entry did not verify at `since`
  kShadowCheck = 6,  ///< its entry was dropped at `since`: its compiler made something else
  kUncacheable = 7,  ///< `reason` says why it is never kept
  kFailed = 8,       ///< it does not compile; `reason` says why
  kNotKept = 9,      ///< it was built before, and its entry is gone
  /// No remembered build of this user has this key, and the user was given no artifact of this key.
  kUnknownKey = 10,
};

/// An earlier build, named for the user.
struct EarlierBuild {
  Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::chrono::system_clock::time_point time;
};

/// The answer to `explain`.
struct Explanation {
  Verdict verdict = Verdict::kNeverSeen;
  TierName tier = TierName::kNone;  ///< where the artifact lies now
  std::string reason;
  /// When the entry went. For a key that nothing happened to: when it was compiled.
  std::optional<std::chrono::system_clock::time_point> since;
  std::optional<EarlierBuild> nearest;
  std::vector<Difference> differences;  ///< the most telling ones
  size_t more_differences = 0;          ///< how many were left out
};

/// Says why a build was, or would be, compiled, without compiling. A user is told only of own
/// builds, and of entries whose inputs the user presents. Thread-safe.
class Explainer {
 public:
  struct Parts {
    Toolchains& toolchains;
    FileAccess& files;
    BuildCache& cache;
    FileChecks& checks;  ///< run looks that wait for the user's files
    FileChecks& reads;   ///< run looks that wait for the daemon's disk; Close must await them
    const BuildHistory& history;
    const EvictionLog& eviction_log;
    AnsweredBuilds* answered = nullptr;  ///< null: answers are not noted
  };
  using Done = std::function<void(Result<Explanation>)>;

  struct Timeouts {
    std::chrono::milliseconds files;  ///< how long files may be looked at
    std::chrono::milliseconds disk;   ///< how long one read of the daemon's disk may take
  };
  /// The parts must outlive the explainer.
  Explainer(const Parts& parts, const Timeouts& patience) : parts_(parts), patience_(patience) {}

  /// Answers why this uid's last build with this key was compiled, and what became of its entry. If
  /// the user was answered with the entry and no such build is remembered, answers the latter
  /// alone. kInvalidRequest: several keys that this user knows begin with `key`. This reads the
  /// disk: `done` runs once, on a thread of this uid's reads, or never if these are closed before.
  /// If the reads are full, `done` runs before this returns.
  void OfKey(const DigestPrefix& key, const Peer& peer, Done done) const;

  /// Answers whether this build would be a hit, and why not. `done` runs once, before this returns
  /// or later on another thread, or never if the file checks or the reads are closed before.
  void OfRequest(std::shared_ptr<const BuildRequest> request, const Peer& peer, Done done) const;

 private:
  struct Question;
  using QuestionPtr = std::shared_ptr<Question>;
  struct Looked;

  /// Explains the only key known to the user that begins so.
  [[nodiscard]] Result<Explanation> OfPrefix(const DigestPrefix& prefix, uid_t uid) const;
  [[nodiscard]] Explanation Known(const Digest& key, uid_t uid) const;
  /// For a key that the history does not have.
  [[nodiscard]] Explanation Answered(const Digest& key, uid_t uid) const;
  void Start(const QuestionPtr& question) const;
  [[nodiscard]] bool MakePlan(Question& question, const ToolchainPtr& toolchain,
                              bool force_path_dependent) const;
  void LookUp(const QuestionPtr& question) const;
  /// Reads the disk.
  void Read(Question& question) const;
  [[nodiscard]] std::optional<Explanation> WithoutFiles(const Question& question) const;
  void CheckFiles(const QuestionPtr& question) const;
  [[nodiscard]] FileChecks::Look LookFor(const QuestionPtr& question) const;
  void Checked(const QuestionPtr& question, const std::shared_ptr<const Looked>& looked) const;
  void NotKept(const QuestionPtr& question, const Looked& looked) const;
  void Conclude(const Question& question, const Looked& looked) const;

  /// Returns what became of an entry that is there no more.
  [[nodiscard]] std::optional<Explanation> GoneSince(const Digest& key) const;

  const Parts parts_;
  const Timeouts patience_;
  const std::optional<FilesView> own_view_ = FilesViewOfThisThread();
};

}  // namespace cccl_cache::daemon
