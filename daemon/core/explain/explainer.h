// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "daemon/core/explain/explanation.h"
#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/lookup/eviction_log.h"
#include "daemon/core/lookup/history.h"
#include "daemon/core/model/file_checks.h"
#include "daemon/core/model/peer.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/tier.h"
#include "daemon/core/model/toolchain.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Says why a build was, or would be, compiled, without compiling. Tells a user of his own builds
/// alone, and of entries whose inputs he presents. Thread-safe.
class Explainer {
 public:
  struct Parts {
    Toolchains& toolchains;
    FileAccess& files;
    BuildMemory& memory;
    FileChecks& checks;  ///< for what waits for the user's files
    FileChecks& reads;   ///< for what waits for the daemon's disk; Close must await these looks
    const BuildHistory& history;
    const Departures& departures;
    AnsweredBuilds* answered = nullptr;  ///< null: nobody notes it
  };
  using Done = std::function<void(Result<Explanation>)>;

  struct Patience {
    std::chrono::milliseconds files;  ///< how long files may be looked at
    std::chrono::milliseconds disk;   ///< how long one read of the daemon's disk may take
  };
  /// The parts must outlive the explainer.
  Explainer(const Parts& parts, const Patience& patience) : parts_(parts), patience_(patience) {}

  /// Why the last build of this uid's with this key was compiled, and what became of its entry; the
  /// latter alone where the user was answered with it and no such build is remembered. The disk is
  /// asked: `done` runs once, on a thread of this uid's reads, or never if these are closed before.
  /// Before this returns where they are full.
  void OfKey(const cccl_cache::Digest& key, const Peer& peer, Done done) const;

  /// Whether this build would be a hit, and why not. `done` runs once, before this returns or later
  /// on another thread, or never if the file checks or the reads are closed before.
  void OfRequest(std::shared_ptr<const cccl_cache::BuildRequest> request, const Peer& peer,
                 Done done) const;

 private:
  struct Question;
  using QuestionPtr = std::shared_ptr<Question>;
  struct Looked;

  [[nodiscard]] Explanation Known(const cccl_cache::Digest& key, uid_t uid) const;
  /// Of a key that the history does not have.
  [[nodiscard]] Explanation Answered(const cccl_cache::Digest& key, uid_t uid) const;
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

  /// What became of an entry that is not there any more.
  [[nodiscard]] std::optional<Explanation> GoneSince(const cccl_cache::Digest& key) const;

  const Parts parts_;
  const Patience patience_;
  const std::optional<cccl_cache::FilesView> own_view_ = cccl_cache::FilesViewOfThisThread();
};

}  // namespace cccl_cache::daemon
