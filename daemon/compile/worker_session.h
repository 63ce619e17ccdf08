// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/files/file_descriptor.h"
#include "daemon/compile/file_service.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/compile/reply.h"
#include "daemon/compile/zygote.h"

namespace cccl_cache::daemon {

/// What the daemon knows about a worker after its end.
struct SessionEnd {
  enum class Cause {
    kExited,        ///< the worker exited, or died by a signal that the daemon did not send
    kStopped,       ///< the daemon killed the worker because the build was stopped
    kDeadline,      ///< the daemon killed the worker at its deadline
    kBadReply,      ///< the daemon killed the worker: bad or refused reply; see `refusal`
    kStayed,        ///< the daemon killed the worker because it still ran after its reply
    kFilesRefused,  ///< a question failed or was not answered before the reply; see `refusal`
    kSpawnFailed,   ///< the zygote could not fork a worker; see `detail`
    kZygoteLost,    ///< the zygote died or does not answer; see detail
  };
  Cause cause = Cause::kExited;
  std::string detail;                     ///< for kDeadline, the file for which it waited, or ""
  std::optional<Error> refusal;           ///< set for kFilesRefused and kBadReply
  bool files_in_use = false;              ///< a question hangs, so the JobFiles are still in use
  bool zygote_lost = false;               ///< the zygote must not get further jobs
  std::optional<Exited> exited;           ///< the zygote's report about the worker's end
  std::optional<std::string> payload;     ///< the payload of a complete reply; only for kExited
  std::chrono::microseconds duration{0};  ///< time from the start of Run() to the complete reply
};

/// Watches one worker until its end, and kills it if necessary. When Run() returns, the worker is
/// dead, unless its zygote was lost. Not thread-safe.
class WorkerSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// `files` answers the worker's questions and must outlive the session. Null if the worker may
  /// not ask for files.
  WorkerSession(WorkerSockets sockets, ReplyBuffer reply, FileService* files = nullptr)
      : sockets_(std::move(sockets)), reply_(std::move(reply)), files_(files) {}

  /// Returns after the worker's end. `stop_fd` is a descriptor that becomes readable when the build
  /// is cancelled.
  [[nodiscard]] SessionEnd Run(int stop_fd, Clock::time_point deadline);

 private:
  /// Waits for the next event and serves it.
  void Step(int stop_fd);
  [[nodiscard]] Clock::time_point NextDeadline() const;
  void CheckClock();
  void ReadStatus();
  void ReadReply();
  void TakeSpawned(Packet& packet);
  void CloseFiles();
  /// Kills the worker and records the cause. If a cause was recorded before, does nothing.
  void EndBecause(SessionEnd::Cause cause, std::string detail = {});
  void Kill();
  /// Gives up the zygote: no report about the worker is expected any more.
  void LoseZygote(std::string detail);

  WorkerSockets sockets_;
  FileDescriptor pidfd_;
  ReplyBuffer reply_;
  FileService* const files_;
  Clock::time_point start_;
  Clock::time_point deadline_;             ///< of the worker; after a kill, of the zygote's report
  std::optional<Clock::time_point> stay_;  ///< when the worker must have exited after its reply
  bool ending_ = false;                    ///< a cause was recorded, and the worker is to be killed
  bool over_ = false;                      ///< the zygote reported the worker's end, or was lost
  SessionEnd end_;
};

}  // namespace cccl_cache::daemon
