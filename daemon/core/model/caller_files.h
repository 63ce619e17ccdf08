// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "daemon/core/model/peer.h"
#include "daemon/core/model/requester_files.h"

namespace cccl_cache::daemon {

/// The files of one caller, who sends them itself: for what the daemon may not or cannot open.
/// Thread-safe.
class CallerFiles {
 public:
  virtual ~CallerFiles() = default;

  /// Waits for the caller's answers, each for a bounded time. Its errors are never kFilesNeeded.
  virtual std::unique_ptr<RequesterFiles> Open(RootDirectories directories) = 0;

  /// An answer was an error, or did not come: what was made of it says nothing to other callers.
  [[nodiscard]] virtual bool failed() const = 0;
};
using CallerFilesPtr = std::shared_ptr<CallerFiles>;

/// Who calls, and what it brings along.
struct Caller {
  Caller(Peer who = {}, CallerFilesPtr brought = nullptr)  // NOLINT: implicit
      : peer(std::move(who)), files(std::move(brought)) {}

  Peer peer;
  CallerFilesPtr files;  ///< null: it sends none
};

/// Whether nobody else has the files of who says the same, if it sends them: an overflow uid is
/// many people, and who does not say what its paths mean may have other files under the same names.
[[nodiscard]] bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories);

/// What the daemon may open for this caller it opens itself; the rest the caller is asked for.
[[nodiscard]] std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                                        const RootDirectories& directories);

}  // namespace cccl_cache::daemon
