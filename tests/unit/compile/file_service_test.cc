// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/file_service.h"

#include <poll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/poll.h"
#include "daemon/compile/protocol/packet.h"
#include "tests/support/no_more_threads.h"
#include "tests/unit/compile/fake_job_files.h"

namespace cccl_cache::daemon::file_service_test {
namespace {

using Catch::Matchers::Contains;

constexpr std::chrono::milliseconds kPatience{60'000};  // only spent by a failing test

/// A service; the test plays the worker and the session.
struct Scene {
  Scene() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    worker = FileDescriptor(fds[1]);
    service.emplace(FileDescriptor(fds[0]), files, HungReadsOf{hung, Account(1)});
  }

  void Ask(const std::string& name) {
    REQUIRE(send(worker.get(), name.data(), name.size(), MSG_NOSIGNAL) > 0);
  }
  /// Returns the contents in the answer to the worker.
  std::string Answered() {
    REQUIRE(WaitReadable(worker.get(), kPatience));
    std::string packet(kMaxPacketBytes, '\0');
    const ssize_t size = recv(worker.get(), packet.data(), packet.size(), 0);
    REQUIRE(size > 0);
    const auto answer = DecodeFileAnswer({packet.data(), static_cast<size_t>(size)});
    REQUIRE(answer.ok());
    return std::string(answer->contents);
  }

  std::shared_ptr<FakeJobFiles> files = std::make_shared<FakeJobFiles>();
  std::shared_ptr<HungReads> hung = std::make_shared<HungReads>();
  FileDescriptor worker;
  std::optional<FileService> service;
};

TEST_CASE("a worker without questions costs no thread") {
  Scene scene;
  CHECK_FALSE(WaitReadable(scene.service->fd(), std::chrono::milliseconds(0)));
  scene.worker.Close();
  REQUIRE(WaitReadable(scene.service->fd(), kPatience));
  const NoMoreThreads none;
  CHECK_FALSE(scene.service->Continue());
  CHECK(scene.service->fd() == -1);
  CHECK(scene.service->Close());
}

TEST_CASE("all questions, from the first on, are answered without the session") {
  Scene scene;
  scene.files->AddFile("/cccl-root-0/a.h", "one");
  scene.files->AddFile("/cccl-root-0/b.h", "two");
  const int channel = scene.service->fd();
  scene.Ask("/cccl-root-0/a.h");
  CHECK_FALSE(scene.service->Continue());
  CHECK(scene.service->fd() != channel);  // from now on it waits only for an error
  CHECK(scene.Answered() == "one");
  scene.Ask("/cccl-root-0/b.h");
  CHECK(scene.Answered() == "two");
  CHECK(scene.service->Close());
  CHECK_FALSE(scene.service->error());
}

TEST_CASE("an error of the files reaches the session, which ends the worker") {
  Scene scene;
  scene.files->Refuse("/cccl-root-0/a.h", {ErrorCode::kFilesNeeded, "only the client can tell"});
  scene.Ask("/cccl-root-0/a.h");
  CHECK_FALSE(scene.service->Continue());
  REQUIRE(WaitReadable(scene.service->fd(), kPatience));
  const auto error = scene.service->Continue();
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kFilesNeeded);
  CHECK(scene.service->fd() == -1);
  CHECK(scene.service->error()->message == error->message);
}

TEST_CASE("a hung question is abandoned at the end of the job") {
  Scene scene;
  scene.files->HangAt("/cccl-root-0/a.h");
  scene.Ask("/cccl-root-0/a.h");
  CHECK_FALSE(scene.service->Continue());
  REQUIRE(scene.files->WaitUntilHanging());
  CHECK(scene.service->asking() == "/cccl-root-0/a.h");
  CHECK_FALSE(scene.service->Close());
  scene.service.reset();
  scene.files->Release();
}

TEST_CASE("if no thread can be started for files, the worker is ended") {
  Scene scene;
  scene.Ask("/cccl-root-0/a.h");
  std::optional<Error> error;
  {
    const NoMoreThreads none;
    error = scene.service->Continue();
  }
  REQUIRE(error);
  CHECK(error->code == ErrorCode::kUnavailable);
  CHECK_THAT(error->message, Contains("can't start a thread to open files"));
  CHECK(scene.service->fd() == -1);
  CHECK(scene.service->Close());
}

/// A conversation on a thread; the test plays the worker.
class Worker {
 public:
  Worker() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    socket_ = FileDescriptor(fds[1]);
    conversation = std::make_shared<FileConversation>(FileDescriptor(fds[0]), files,
                                                      HungReadsOf{hung, Account(1)});
    thread_ = std::jthread([conversation = conversation] { conversation->Run(); });
  }

  /// Asks, and reads the whole answer. Returns false if the conversation is over.
  bool Ask(const std::string& name) {
    if (send(socket_.get(), name.data(), name.size(), MSG_NOSIGNAL) < 0) return false;
    pollfd ready[] = {{socket_.get(), POLLIN, 0}, {conversation->error_fd(), POLLIN, 0}};
    REQUIRE(poll(ready, 2, 60'000) > 0);
    if (ready[0].revents == 0) return false;
    ssize_t received = recv(socket_.get(), packet_.data(), packet_.size(), 0);
    if (received <= 0) return false;
    const Result<FileAnswerStart> start =
        DecodeFileAnswer({packet_.data(), static_cast<size_t>(received)});
    REQUIRE(start.ok());
    uint64_t left = start->header.size - start->contents.size();
    while (left > 0) {
      received = recv(socket_.get(), packet_.data(), packet_.size(), 0);
      REQUIRE(received == static_cast<ssize_t>(BytesInNextPacket(left)));
      left -= static_cast<uint64_t>(received);
    }
    return true;
  }
  void Join() { thread_.join(); }
  /// Waits for the end of the conversation and returns its error.
  Error End() {
    CHECK(conversation->Close());
    Join();
    REQUIRE(conversation->error().has_value());
    return *conversation->error();
  }

  std::shared_ptr<FakeJobFiles> files = std::make_shared<FakeJobFiles>();
  std::shared_ptr<HungReads> hung = std::make_shared<HungReads>();
  std::shared_ptr<FileConversation> conversation;

 private:
  FileDescriptor socket_;
  std::string packet_ = std::string(kMaxPacketBytes, '\0');
  std::jthread thread_;
};

TEST_CASE("a worker with endless questions is ended") {
  Worker worker;
  uint64_t questions = 0;
  while (worker.Ask("/none")) ++questions;
  CHECK(questions == kMaxFileQuestions);
  const Error error = worker.End();
  CHECK(error.code == ErrorCode::kWorkerCrashed);
  CHECK_THAT(error.message, Contains("200000"));
}

TEST_CASE("a worker that takes more bytes than any compile reads is ended") {
  Worker worker;
  constexpr uint64_t kSize = 128ull << 20;
  worker.files->AddFile("/large", std::string(kSize, 'x'));
  uint64_t taken = 0;
  while (worker.Ask("/large")) taken += kSize;
  CHECK(taken == kMaxHandedOverBytes);
  const Error error = worker.End();
  CHECK(error.code == ErrorCode::kWorkerCrashed);
  CHECK_THAT(error.message, Contains("1024 MiB"));
}

TEST_CASE("an invalid name ends the worker without a question") {
  for (const char* name : {"a.h", "/a//b", "/a/./b", "/a/"}) {
    Worker worker;
    CHECK_FALSE(worker.Ask(name));
    CHECK(worker.End().code == ErrorCode::kWorkerCrashed);
    CHECK(worker.files->asked().empty());
  }
}

TEST_CASE("a thread that hangs is counted until the disk answers, with its name") {
  Worker worker;
  worker.files->HangAt("/a.h");
  std::jthread asking([&] { CHECK_FALSE(worker.Ask("/a.h")); });
  REQUIRE(worker.files->WaitUntilHanging());
  CHECK(worker.conversation->asking() == "/a.h");
  CHECK(worker.hung->count() == 0);
  CHECK_FALSE(worker.conversation->Close());
  CHECK(worker.hung->count() == 1);
  CHECK_FALSE(worker.conversation->Close());
  CHECK(worker.hung->count() == 1);
  worker.files->Release();
  worker.Join();
  CHECK(worker.hung->count() == 0);
  CHECK_FALSE(worker.conversation->error().has_value());
}

TEST_CASE("a user with hung reads may start no more until one ends, others may") {
  HungReads reads;
  for (size_t i = 0; i < HungReads::kMaxPerUid; ++i) {
    CHECK_FALSE(reads.Full(Account(1)));
    reads.Begin(Account(1));
  }
  CHECK(reads.Full(Account(1)));
  CHECK_FALSE(reads.Full(Account(2)));
  reads.End(Account(1));
  CHECK_FALSE(reads.Full(Account(1)));
}

TEST_CASE("hung reads of all users together are bounded, with a part reserved for root") {
  HungReads reads;
  for (uid_t user = 1; user <= 100; ++user) {
    while (!reads.Full(Account(user))) reads.Begin(Account(user));
  }
  CHECK(reads.count() < HungReads::kMax);
  CHECK(reads.Full(Account(1000)));
  CHECK_FALSE(reads.Full(Account(0)));
  reads.End(Account(1));
  CHECK_FALSE(reads.Full(Account(1000)));
}

TEST_CASE("hung reads of containers leave half of the bound to others") {
  HungReads reads;
  for (uid_t i = 0; i < 100; ++i) {
    const Account container(kFirstContainerUser + i);
    while (!reads.Full(container)) reads.Begin(container);
  }
  CHECK(reads.count() <= HungReads::kMax / 2);
  CHECK_FALSE(reads.Full(Account(1)));
}

}  // namespace
}  // namespace cccl_cache::daemon::file_service_test
