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

/// The end of one worker, as the daemon saw it.
struct SessionEnd {
  enum class Cause {
    kExited,        ///< it exited by itself, or by a signal that the daemon did not send
    kStopped,       ///< killed: the build was stopped
    kDeadline,      ///< killed: its deadline passed
    kBadReply,      ///< killed: its reply is invalid or was refused; see refusal
    kStayed,        ///< killed: it still ran after its reply
    kFilesRefused,  ///< killed: it may not have a file that it asked for; see refusal
    kSpawnFailed,   ///< the zygote could not fork; see detail
    kZygoteLost,    ///< the zygote died or does not answer; see detail
  };
  Cause cause = Cause::kExited;
  std::string detail;                     ///< for kDeadline: the file that it waited for, if any
  std::optional<Error> refusal;           ///< set for kFilesRefused and kBadReply
  bool files_in_use = false;              ///< a question hangs; its answer will be dropped
  bool zygote_lost = false;               ///< the zygote must not be used again
  std::optional<Exited> exited;           ///< the zygote's report
  std::optional<std::string> payload;     ///< payload of a complete frame; only for kExited
  std::chrono::microseconds duration{0};  ///< from the start to the complete reply
};

/// Watches one worker from its fork to its end, and kills it if necessary. Not thread-safe. The
/// worker is dead when Run() returns, unless its zygote is lost.
class WorkerSession {
 public:
  using Clock = std::chrono::steady_clock;

  /// `files`: serves the files socket, which the caller must not use; null: there is none.
  WorkerSession(WorkerSockets sockets, ReplyBuffer reply, FileService* files = nullptr)
      : sockets_(std::move(sockets)), reply_(std::move(reply)), files_(files) {}

  /// Runs the session to its end. `stop_fd` becomes readable when the build is cancelled.
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
  /// Kills the worker for this cause. Later causes are ignored.
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
  std::optional<Clock::time_point> stay_;  ///< deadline of the worker's exit after its reply
  bool ending_ = false;                    ///< the worker is or will be killed
  bool over_ = false;                      ///< the zygote reported the worker's end, or is lost
  SessionEnd end_;
};

}  // namespace cccl_cache::daemon
