// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/file_descriptor.h"
#include "daemon/compile/file_service.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/compile/reply.h"
#include "daemon/compile/zygote.h"

namespace cccl_cache::daemon {

/// How one worker came to its end, as far as the daemon saw it.
struct SessionEnd {
  enum class Cause {
    kExited,        ///< by itself, or by a signal that was not ours
    kStopped,       ///< ended by us: stop was requested
    kDeadline,      ///< ended by us: its time was up
    kBadReply,      ///< ended by us: its answer is none, or is not taken; see refusal
    kStayed,        ///< ended by us: it answered and went on running
    kFilesRefused,  ///< ended by us: it may not have a file that it asked for; see refusal
    kSpawnFailed,   ///< the zygote could not fork; see detail
    kZygoteLost,    ///< the zygote died or fell silent; see detail
  };
  Cause cause = Cause::kExited;
  std::string detail;                     ///< of kDeadline: the file that was being waited for
  std::optional<Error> refusal;           ///< of kFilesRefused and kBadReply
  bool files_in_use = false;              ///< a question hangs, and will be answered to nobody
  bool zygote_lost = false;               ///< whatever the cause: never use this zygote again
  std::optional<Exited> exited;           ///< what the zygote reported
  std::optional<std::string> payload;     ///< of a complete frame, and only if the cause is kExited
  std::chrono::microseconds duration{0};  ///< from the start until the answer was complete
};

/// Watches one worker from its fork to its end, and ends it when it must. Not thread-safe. The
/// worker is dead when Run returns, unless its zygote is lost too.
class WorkerSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// `files`: serves the files socket, of which the caller keeps its hands; null: there is none.
  WorkerSession(WorkerSockets sockets, ReplyBuffer reply, FileService* files = nullptr)
      : sockets_(std::move(sockets)), reply_(std::move(reply)), files_(files) {}

  /// `stop_fd` is readable from the moment when nobody wants the answer any more.
  [[nodiscard]] SessionEnd Run(int stop_fd, Clock::time_point deadline);

 private:
  /// Waits for the next event, and serves it.
  void Step(int stop_fd);
  [[nodiscard]] Clock::time_point NextDeadline() const;
  void CheckClock();
  void ReadStatus();
  void ReadReply();
  void TakeSpawned(Packet& packet);
  void ContinueFiles();
  void CloseFiles();
  /// The worker must end, for this reason. The first reason counts.
  void EndBecause(SessionEnd::Cause cause, std::string detail = {});
  void Kill();
  /// No more will be heard of the worker.
  void LoseZygote(std::string detail);

  WorkerSockets sockets_;
  FileDescriptor pidfd_;
  ReplyBuffer reply_;
  FileService* const files_;
  Clock::time_point start_;
  Clock::time_point deadline_;             ///< of the worker; later of the zygote's report
  std::optional<Clock::time_point> stay_;  ///< how long it may stay after its answer
  bool ending_ = false;                    ///< killed, or about to be
  bool over_ = false;                      ///< the zygote reported its end, or is lost
  SessionEnd end_;
};

}  // namespace cccl_cache::daemon
