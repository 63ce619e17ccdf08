// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <variant>

#include "base/child_process.h"
#include "daemon/compile/protocol/packet.h"

namespace cccl_cache::daemon {
namespace {

using std::chrono::milliseconds;

/// How long a worker may run after its complete reply. Normally it exits at once.
constexpr std::chrono::seconds kStayPatience{5};
/// Limit of the wait for the zygote's report about a killed worker; normally it comes at once.
constexpr std::chrono::seconds kReportPatience{10};
constexpr size_t kChunkBytes = 64 * 1024;

}  // namespace

SessionEnd WorkerSession::Run(int stop_fd, Clock::time_point deadline) {
  start_ = Clock::now();
  deadline_ = deadline;
  while (!over_) Step(stop_fd);
  // The zygote's report may arrive before the worker's last bytes are read from the socket.
  if (!ending_) ReadReply();
  if (files_ != nullptr) CloseFiles();
  if (end_.cause == SessionEnd::Cause::kExited && reply_.complete()) {
    end_.payload = reply_.TakePayload();
  }
  return std::move(end_);
}

void WorkerSession::Step(int stop_fd) {
  const int files_fd = files_ != nullptr && !ending_ ? files_->error_fd() : -1;
  std::array<pollfd, 4> entries{
      pollfd{.fd = sockets_.status.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = ending_ ? -1 : sockets_.reply.get(), .events = POLLIN, .revents = 0},
      pollfd{.fd = ending_ ? -1 : stop_fd, .events = POLLIN, .revents = 0},
      pollfd{.fd = files_fd, .events = POLLIN, .revents = 0}};
  const auto left = std::chrono::ceil<milliseconds>(NextDeadline() - Clock::now()).count();
  const int ready =
      poll(entries.data(), entries.size(), static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
  if (ready < 0 && errno != EINTR) return LoseZygote(std::string("poll: ") + strerror(errno));
  if (ready > 0) {
    if (entries[2].revents != 0) EndBecause(SessionEnd::Cause::kStopped);
    if (entries[3].revents != 0) EndBecause(SessionEnd::Cause::kFilesRefused);
    if (entries[1].revents != 0 && !ending_) ReadReply();
    if (entries[0].revents != 0) ReadStatus();
  }
  if (!over_) CheckClock();
}

WorkerSession::Clock::time_point WorkerSession::NextDeadline() const {
  return stay_ && !ending_ ? std::min(*stay_, deadline_) : deadline_;
}

void WorkerSession::CheckClock() {
  const Clock::time_point now = Clock::now();
  if (now < NextDeadline()) return;
  if (ending_) return LoseZygote("it did not report the end of a worker");
  if (now < deadline_) return EndBecause(SessionEnd::Cause::kStayed);
  EndBecause(SessionEnd::Cause::kDeadline, files_ != nullptr ? files_->asking() : std::string());
}

/// A reply counts only if all questions were answered and none was refused. If no question could be
/// answered, a worker that replied and ended well has asked none.
void WorkerSession::CloseFiles() {
  end_.files_in_use = !files_->Close();
  const bool refused = end_.cause == SessionEnd::Cause::kFilesRefused;
  if (end_.cause != SessionEnd::Cause::kExited && !refused) return;
  end_.refusal = files_->error();
  if (!end_.refusal && (end_.exited->wait_status != 0 || !reply_.complete())) {
    end_.refusal = files_->failure_to_start();
  }
  if (!end_.refusal && end_.files_in_use && reply_.complete()) {
    end_.refusal = Error{ErrorCode::kWorkerCrashed,
                         "the worker answered before it was told about a file that it asked for"};
  }
  if (end_.refusal) end_.cause = SessionEnd::Cause::kFilesRefused;
}

void WorkerSession::ReadStatus() {
  Result<Packet> packet = ReceivePacket(sockets_.status.get());
  if (!packet) return LoseZygote(packet.error().message);
  if (packet->end) return LoseZygote("it died");
  const Result<StatusMessage> message = DecodeStatusMessage(packet->bytes);
  if (!message) return LoseZygote(message.error().message);
  if (const auto* failed = std::get_if<SpawnFailed>(&*message)) {
    EndBecause(SessionEnd::Cause::kSpawnFailed, failed->message);
    over_ = true;
  } else if (const auto* exited = std::get_if<Exited>(&*message)) {
    end_.exited = *exited;
    over_ = true;
  } else {
    TakeSpawned(*packet);
  }
}

void WorkerSession::TakeSpawned(Packet& packet) {
  if (pidfd_.valid() || packet.fds.size() != 1) {
    return LoseZygote("it reported a worker without a handle");
  }
  pidfd_ = std::move(packet.fds.front());
  if (ending_) Kill();
}

void WorkerSession::ReadReply() {
  std::string chunk(kChunkBytes, '\0');
  for (;;) {
    const ssize_t received = recv(sockets_.reply.get(), chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0 && errno == EAGAIN) return;
    if (received <= 0) return sockets_.reply.Close();
    const Status appended = reply_.Append({chunk.data(), static_cast<size_t>(received)});
    if (!appended) {
      if (!ending_) end_.refusal = appended.error();
      return EndBecause(SessionEnd::Cause::kBadReply);
    }
    if (reply_.complete() && !stay_) {
      end_.duration = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
      stay_ = Clock::now() + kStayPatience;
    }
    // Reads one chunk per call. Otherwise a worker that never stops writing would keep this thread
    // from checking the deadline and the stop request.
    if (!over_) return;
  }
}

void WorkerSession::EndBecause(SessionEnd::Cause cause, std::string detail) {
  if (ending_) return;
  ending_ = true;
  end_.cause = cause;
  end_.detail = std::move(detail);
  deadline_ = Clock::now() + kReportPatience;
  Kill();
}

void WorkerSession::Kill() {
  if (pidfd_.valid()) KillProcess(pidfd_.get());
}

void WorkerSession::LoseZygote(std::string detail) {
  EndBecause(SessionEnd::Cause::kZygoteLost, std::move(detail));
  end_.zygote_lost = true;
  over_ = true;
}

}  // namespace cccl_cache::daemon
