// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file_descriptor.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/job.h"
#include "daemon/compile/protocol/packet.h"
#include "daemon/worker/zygote.h"

namespace cccl_cache::daemon {

/// The result of a job.
struct JobOutcome {
  int wait_status = -1;
  std::string reply;  ///< all bytes that the worker sent

  [[nodiscard]] WorkerReply Decoded() const {
    REQUIRE(wait_status == 0);
    REQUIRE(reply.size() > kFrameHeaderBytes);
    Result<WorkerReply> decoded = DecodeReply(reply.substr(kFrameHeaderBytes));
    REQUIRE(decoded.ok());
    return *std::move(decoded);
  }
};

/// A zygote in a child of this process, and the daemon's side of its sockets. Ends with the object.
class RunningZygote {
 public:
  // Exit statuses of the zygote's process: it did not start, or stopped with an error.
  static constexpr int kNotStarted = 41;
  static constexpr int kBroken = 42;

  RunningZygote() {
    Ends control = Connected(SOCK_SEQPACKET);
    pid_ = fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
      control.ours.Close();
      RunHere(std::move(control.theirs));
    }
    control_ = std::move(control.ours);
  }
  ~RunningZygote() {
    if (pid_ > 0) End();
  }
  RunningZygote(const RunningZygote&) = delete;
  RunningZygote& operator=(const RunningZygote&) = delete;

  [[nodiscard]] ControlAnswer Greet(const ControlMessage& hello) const {
    REQUIRE(SendPacket(control_.get(), EncodeControlMessage(hello)).ok());
    const Result<Packet> packet = ReceivePacket(control_.get());
    REQUIRE(packet.ok());
    const Result<ControlAnswer> answer = DecodeControlAnswer(packet->bytes);
    REQUIRE(answer.ok());
    return *answer;
  }

  /// `files`: the worker's end of its files socket, or -1.
  [[nodiscard]] JobOutcome Do(const CompileJob& job, int files = -1) const {
    return Do(MemoryOf(job), files);
  }
  [[nodiscard]] JobOutcome Do(const FileDescriptor& memory, int files = -1) const {
    Ends reply = Connected(SOCK_STREAM);
    Ends status = Connected(SOCK_SEQPACKET);
    std::vector<int> fds = {memory.get(), reply.theirs.get(), status.theirs.get()};
    if (files >= 0) fds.push_back(files);
    Send({.job_id = 1, .memory_bytes = 256u << 20}, fds);
    reply.theirs.Close();
    status.theirs.Close();
    const auto spawned = Next(status.ours);
    REQUIRE(std::holds_alternative<Spawned>(spawned.first));
    REQUIRE(spawned.second == 1);  // the worker's pidfd
    JobOutcome outcome;
    char chunk[4096];
    for (ssize_t size; (size = read(reply.ours.get(), chunk, sizeof(chunk))) > 0;) {
      outcome.reply.append(chunk, static_cast<size_t>(size));
    }
    const StatusMessage exited = Next(status.ours).first;
    REQUIRE(std::holds_alternative<Exited>(exited));
    outcome.wait_status = std::get<Exited>(exited).wait_status;
    return outcome;
  }

  void Send(const SpawnRequest& request, const std::vector<int>& fds) const {
    REQUIRE(SendPacket(control_.get(), EncodeControlMessage(request), fds).ok());
  }

  /// Returns the zygote's current workers, with and without a job.
  [[nodiscard]] std::vector<pid_t> Workers() const {
    const std::string pid = std::to_string(pid_);
    std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
    REQUIRE(children);
    return {std::istream_iterator<pid_t>(children), {}};
  }

  /// Closes the daemon's socket. Returns the exit status of the zygote's process.
  int End() {
    control_.Close();
    int status = 0;
    REQUIRE(waitpid(std::exchange(pid_, -1), &status, 0) > 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  struct Ends {
    FileDescriptor ours;
    FileDescriptor theirs;
  };

  static Ends Connected(int type) {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0);
    return {FileDescriptor(pair[0]), FileDescriptor(pair[1])};
  }

  static FileDescriptor MemoryOf(const CompileJob& job) {
    FileDescriptor memory(memfd_create("job", MFD_CLOEXEC));
    REQUIRE(EncodeJob(job).WriteTo(memory.get()) == 0);
    return memory;
  }

  [[noreturn]] static void RunHere(FileDescriptor control) {
    signal(SIGABRT, SIG_DFL);  // the test program would report it as its own crash
    Result<Zygote> zygote = Zygote::Start(std::move(control));
    if (!zygote) _exit(kNotStarted);
    _exit(zygote->Run() ? 0 : kBroken);
  }

  static std::pair<StatusMessage, size_t> Next(const FileDescriptor& status) {
    const Result<Packet> packet = ReceivePacket(status.get());
    REQUIRE(packet.ok());
    REQUIRE_FALSE(packet->end);
    Result<StatusMessage> message = DecodeStatusMessage(packet->bytes);
    REQUIRE(message.ok());
    return {*std::move(message), packet->fds.size()};
  }

  pid_t pid_ = -1;
  FileDescriptor control_;
};

}  // namespace cccl_cache::daemon
