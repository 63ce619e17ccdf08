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

/// How one worker ended, as far as the daemon saw it.
struct SessionEnd {
  enum class Cause {
    kExited,        ///< by itself, or by a signal that the daemon did not send
    kStopped,       ///< ended by the daemon: stop was requested
    kDeadline,      ///< ended by the daemon: its deadline passed
    kBadReply,      ///< ended by the daemon: its answer is invalid or not taken; see refusal
    kStayed,        ///< ended by the daemon: it answered and went on running
    kFilesRefused,  ///< ended by the daemon: it may not have a file it asked for; see refusal
    kSpawnFailed,   ///< the zygote could not fork; see detail
    kZygoteLost,    ///< the zygote died or fell silent; see detail
  };
  Cause cause = Cause::kExited;
  std::string detail;                     ///< for kDeadline: the file it waited for, if any
  std::optional<Error> refusal;           ///< set for kFilesRefused and kBadReply
  bool files_in_use = false;              ///< a question hangs; its answer will be dropped
  bool zygote_lost = false;               ///< for any cause: never use this zygote again
  std::optional<Exited> exited;           ///< what the zygote reported
  std::optional<std::string> payload;     ///< of a complete frame; set only for kExited
  std::chrono::microseconds duration{0};  ///< from the start until the answer was complete
};

/// Watches one worker from its fork to its end, and kills it when it must end. Not thread-safe. The
/// worker is dead when Run() returns, unless its zygote is lost too.
class WorkerSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// `files`: serves the files socket, which the caller must not touch; null: there is none.
  WorkerSession(WorkerSockets sockets, ReplyBuffer reply, FileService* files = nullptr)
      : sockets_(std::move(sockets)), reply_(std::move(reply)), files_(files) {}

  /// Runs the session to its end. `stop_fd` becomes readable when the answer is no longer wanted.
  [[nodiscard]] SessionEnd Run(int stop_fd, Clock::time_point deadline);

 private:
  /// Waits for the next event and serves it.
  void Step(int stop_fd);
  [[nodiscard]] Clock::time_point NextDeadline() const;
  void CheckClock();
  void ReadStatus();
  void ReadReply();
  void TakeSpawned(Packet& packet);
  void ContinueFiles();
  void CloseFiles();
  /// Kills the worker for this reason. The first reason counts.
  void EndBecause(SessionEnd::Cause cause, std::string detail = {});
  void Kill();
  /// Gives up the zygote: it will report nothing more about the worker.
  void LoseZygote(std::string detail);

  WorkerSockets sockets_;
  FileDescriptor pidfd_;
  ReplyBuffer reply_;
  FileService* const files_;
  Clock::time_point start_;
  Clock::time_point deadline_;             ///< of the worker; after a kill, of the zygote's report
  std::optional<Clock::time_point> stay_;  ///< until when it may run after its answer
  bool ending_ = false;                    ///< the worker is killed, or about to be
  bool over_ = false;                      ///< the zygote reported the worker's end, or is lost
  SessionEnd end_;
};

}  // namespace cccl_cache::daemon
