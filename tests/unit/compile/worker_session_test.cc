// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/worker_session.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "base/child_process.h"
#include "base/poll.h"
#include "daemon/compile/protocol/frame.h"
#include "daemon/compile/protocol/packet.h"
#include "tests/support/no_more_threads.h"
#include "tests/support/resource_bound.h"
#include "tests/unit/compile/fake_job_files.h"

namespace cccl_cache::daemon::worker_session_test {
namespace {

using Cause = SessionEnd::Cause;
using Catch::Matchers::Contains;
using std::chrono::milliseconds;

constexpr uint64_t kMaxReply = 120'000;

/// Acts as the zygote and the worker. Most tests send all messages before the session reads.
class Stage {
 public:
  Stage() {
    pid_ = fork();  // before the sockets are made, so that the child does not keep them open
    if (pid_ == 0) {
      for (;;) pause();
    }
    pidfd = OpenPidfd(pid_);
    REQUIRE(pidfd.valid());
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    sockets.reply = FileDescriptor(fds[0]);
    worker = FileDescriptor(fds[1]);
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    sockets.status = FileDescriptor(fds[0]);
    zygote = FileDescriptor(fds[1]);
  }
  ~Stage() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void SaySpawned() {
    const int fds[] = {pidfd.get()};
    REQUIRE(SendPacket(zygote.get(), EncodeStatusMessage(Spawned{pid_}), fds).ok());
  }
  void Say(const StatusMessage& message) {
    REQUIRE(SendPacket(zygote.get(), EncodeStatusMessage(message)).ok());
  }
  void Write(const std::string& bytes) {
    REQUIRE(write(worker.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  void WriteFrame(const std::string& payload) {
    Write(EncodeFrameHeader(payload.size()) + payload);
  }

  SessionEnd Run(milliseconds limit = std::chrono::minutes(1), std::stop_token stop = {},
                 FileService* files = nullptr) {
    const StopEvent event(std::move(stop));
    WorkerSession session(std::move(sockets), ReplyBuffer(kMaxReply), files);
    return session.Run(event.fd(), WorkerSession::Clock::now() + limit);
  }
  /// Returns whether the worker was killed. Exact after the end of the session, which sends the
  /// signal before it ends.
  [[nodiscard]] bool Killed() const { return WaitReadable(pidfd.get(), milliseconds(10'000)); }
  [[nodiscard]] bool Running() const { return !WaitReadable(pidfd.get(), milliseconds(0)); }

  WorkerSockets sockets;
  FileDescriptor worker;
  FileDescriptor zygote;
  FileDescriptor pidfd;

 private:
  pid_t pid_ = -1;
};

TEST_CASE("an answer is accepted once the zygote has reported the worker's exit") {
  Stage stage;
  stage.SaySpawned();
  stage.WriteFrame("payload");
  stage.Say(Exited{.wait_status = 0, .peak_resident_bytes = 7});
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kExited);
  CHECK(end.payload == "payload");
  CHECK(end.exited->peak_resident_bytes == 7);
  CHECK(end.duration.count() > 0);
  CHECK_FALSE(end.zygote_lost);
  CHECK(stage.Running());
}

TEST_CASE("an answer that is still in the socket after the worker's exit is read whole") {
  Stage stage;
  stage.SaySpawned();
  stage.WriteFrame(std::string(kMaxReply, 'x'));
  stage.Say(Exited{});
  const SessionEnd end = stage.Run();
  REQUIRE(end.payload.has_value());
  CHECK(end.payload->size() == kMaxReply);
}

TEST_CASE("an incomplete reply is refused") {
  Stage stage;
  stage.SaySpawned();
  stage.Write(EncodeFrameHeader(8) + "half");
  stage.Say(Exited{});
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kExited);
  CHECK_FALSE(end.payload.has_value());
}

TEST_CASE("a worker that sends more than its answer is ended") {
  Stage stage;
  stage.SaySpawned();
  stage.WriteFrame("payload");
  stage.Write("x");
  stage.Say(Exited{});
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kBadReply);
  CHECK_FALSE(end.payload.has_value());
  CHECK(stage.Killed());
}

TEST_CASE("an answer over the maximum size is refused") {
  Stage stage;
  stage.SaySpawned();
  stage.WriteFrame(std::string(kMaxReply + 1, 'x'));
  stage.Say(Exited{});
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kBadReply);
  REQUIRE(end.refusal);
  CHECK(end.refusal->code == ErrorCode::kOutOfMemory);
  CHECK_THAT(end.refusal->message, Contains("120001") && Contains("120000"));
}

TEST_CASE("the death of a zygote ends the job, and the worker is killed") {
  Stage stage;
  stage.SaySpawned();
  stage.zygote.Close();
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kZygoteLost);
  CHECK(end.zygote_lost);
  CHECK(stage.Killed());
}

TEST_CASE("a zygote that can't fork does not count as lost") {
  Stage stage;
  stage.Say(SpawnFailed{"fork: no"});
  const SessionEnd end = stage.Run();
  CHECK(end.cause == Cause::kSpawnFailed);
  CHECK(end.detail == "fork: no");
  CHECK_FALSE(end.zygote_lost);
}

TEST_CASE("a zygote that reports a worker without a pidfd counts as lost") {
  Stage stage;
  stage.Say(Spawned{1});
  CHECK(stage.Run().cause == Cause::kZygoteLost);
}

TEST_CASE("a zygote that sends an invalid status counts as lost") {
  Stage stage;
  REQUIRE(SendPacket(stage.zygote.get(), "nonsense").ok());
  CHECK(stage.Run().cause == Cause::kZygoteLost);
}

TEST_CASE("a worker that is reported after the cancellation is killed") {
  Stage stage;
  std::stop_source stop;
  stop.request_stop();
  stage.SaySpawned();
  stage.Say(Exited{.wait_status = SIGKILL});
  const SessionEnd end = stage.Run(std::chrono::minutes(1), stop.get_token());
  CHECK(end.cause == Cause::kStopped);
  CHECK(stage.Killed());
}

TEST_CASE("the first cause of a session's end is kept") {
  Stage stage;
  stage.SaySpawned();
  stage.zygote.Close();
  std::stop_source stop;
  stop.request_stop();
  const SessionEnd end = stage.Run(milliseconds(0), stop.get_token());
  CHECK(end.cause == Cause::kStopped);
  CHECK(end.zygote_lost);
}

enum class Lack { kNothing, kThreads, kDescriptors };

/// A worker's end of the files socket, and the file service at the other end. The service starts
/// while the process can't get more threads or descriptors, if `lack` says so.
struct Questions {
  explicit Questions(Lack lack = Lack::kNothing) {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    worker = FileDescriptor(fds[1]);
    std::optional<NoMoreThreads> no_threads;
    std::optional<ResourceBound> no_descriptors;
    if (lack == Lack::kThreads) no_threads.emplace();
    if (lack == Lack::kDescriptors) no_descriptors.emplace(RLIMIT_NOFILE, 0);
    service =
        std::make_unique<FileService>(FileDescriptor(fds[0]), files, HungReadsOf{hung, Account(1)});
  }

  FileDescriptor worker;
  std::shared_ptr<FakeJobFiles> files = std::make_shared<FakeJobFiles>();
  std::shared_ptr<HungReads> hung = std::make_shared<HungReads>();
  std::unique_ptr<FileService> service;
};

TEST_CASE("a worker's answer is refused while its file question is open") {
  Stage stage;
  Questions questions;
  questions.files->HangAt("/a.h");
  REQUIRE(SendPacket(questions.worker.get(), "/a.h").ok());
  stage.SaySpawned();
  std::jthread worker([&] {
    CHECK(questions.files->WaitUntilHanging());
    stage.WriteFrame("payload");
    stage.Say(Exited{});
  });
  const SessionEnd end = stage.Run(std::chrono::minutes(1), {}, questions.service.get());
  CHECK(end.cause == Cause::kFilesRefused);
  CHECK(end.refusal->code == ErrorCode::kWorkerCrashed);
  CHECK(end.files_in_use);
  CHECK_FALSE(end.payload.has_value());
  questions.files->Release();
}

TEST_CASE("a refused file ends the worker, whatever the worker answers") {
  Stage stage;
  Questions questions;
  questions.files->Refuse("/a.h", Error{ErrorCode::kFilesNeeded, "ask the client"});
  REQUIRE(SendPacket(questions.worker.get(), "/a.h").ok());
  stage.SaySpawned();
  stage.WriteFrame("payload");
  std::jthread zygote([&] {
    CHECK(stage.Killed());
    stage.Say(Exited{.wait_status = SIGKILL});
  });
  const SessionEnd end = stage.Run(std::chrono::minutes(1), {}, questions.service.get());
  CHECK(end.cause == Cause::kFilesRefused);
  CHECK(end.refusal->message == "ask the client");
  CHECK_FALSE(end.files_in_use);
}

TEST_CASE("a job without file questions succeeds even if no files can be served") {
  for (const Lack lack : {Lack::kThreads, Lack::kDescriptors}) {
    CAPTURE(static_cast<int>(lack));
    Stage stage;
    const Questions questions(lack);
    stage.SaySpawned();
    stage.WriteFrame("payload");
    stage.Say(Exited{});
    const SessionEnd end = stage.Run(std::chrono::minutes(1), {}, questions.service.get());
    CHECK(end.cause == Cause::kExited);
    CHECK(end.payload == "payload");
  }
}

TEST_CASE("if no files can be served, the first file question ends the job with the reason") {
  const auto [lack, reason] = GENERATE(std::pair(Lack::kThreads, "can't start a thread"),
                                       std::pair(Lack::kDescriptors, "descriptors"));
  const bool answers = GENERATE(false, true);
  CAPTURE(reason, answers);
  Stage stage;
  const Questions questions(lack);
  REQUIRE_FALSE(SendPacket(questions.worker.get(), "/a.h").ok());
  stage.SaySpawned();
  if (answers) stage.WriteFrame("payload");
  stage.Say(Exited{.wait_status = answers ? kExitFilesLost << 8 : 0});
  const SessionEnd end = stage.Run(std::chrono::minutes(1), {}, questions.service.get());
  REQUIRE(end.cause == Cause::kFilesRefused);
  CHECK(end.refusal->code == ErrorCode::kUnavailable);
  CHECK_THAT(end.refusal->message, Contains(reason));
  CHECK_FALSE(end.payload.has_value());
}

TEST_CASE("no file is looked up after the end of the session") {
  Stage stage;
  Questions questions;
  stage.SaySpawned();
  stage.Say(Exited{});
  CHECK(stage.Run(std::chrono::minutes(1), {}, questions.service.get()).cause == Cause::kExited);
  REQUIRE_FALSE(SendPacket(questions.worker.get(), "/a.h").ok());
  CHECK(questions.files->asked().empty());
}

}  // namespace
}  // namespace cccl_cache::daemon::worker_session_test
