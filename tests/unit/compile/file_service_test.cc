// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/file_service.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/poll.h"
#include "daemon/compile/protocol/packet.h"
#include "tests/support/wait_until.h"
#include "tests/unit/compile/fake_job_files.h"

namespace cccl_cache::daemon::file_service_test {
namespace {

using Catch::Matchers::Contains;

constexpr std::chrono::milliseconds kPatience{60'000};  // only a failing test waits so long

/// A file service. The test acts as the worker and as the session.
class Scene {
 public:
  Scene() {
    int fds[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0);
    socket_ = FileDescriptor(fds[1]);
    service.emplace(FileDescriptor(fds[0]), files, HungReadsOf{hung, Account(1)});
  }

  void Send(const std::string& name) {
    REQUIRE(send(socket_.get(), name.data(), name.size(), MSG_NOSIGNAL) > 0);
  }
  /// Reads the whole answer and returns its beginning, or none if the service has ended.
  std::optional<std::string> Answered() {
    REQUIRE(WaitReadable(socket_.get(), kPatience));
    ssize_t received = recv(socket_.get(), packet_.data(), packet_.size(), 0);
    if (received <= 0) return std::nullopt;
    const Result<FileAnswerStart> start =
        DecodeFileAnswer({packet_.data(), static_cast<size_t>(received)});
    REQUIRE(start.ok());
    const std::string beginning(start->contents);
    uint64_t left = start->header.size - start->contents.size();
    while (left > 0) {
      received = recv(socket_.get(), packet_.data(), packet_.size(), 0);
      REQUIRE(received == static_cast<ssize_t>(BytesInNextPacket(left)));
      left -= static_cast<uint64_t>(received);
    }
    return beginning;
  }
  std::optional<std::string> Ask(const std::string& name) {
    Send(name);
    return Answered();
  }
  /// Waits for the error with which the service ends the worker, and returns it.
  Error End() {
    REQUIRE(WaitReadable(service->error_fd(), kPatience));
    CHECK(service->Close());
    REQUIRE(service->error().has_value());
    return *service->error();
  }

  std::shared_ptr<FakeJobFiles> files = std::make_shared<FakeJobFiles>();
  std::shared_ptr<HungReads> hung = std::make_shared<HungReads>();
  std::optional<FileService> service;

 private:
  FileDescriptor socket_;
  std::string packet_ = std::string(kMaxPacketBytes, '\0');
};

TEST_CASE("the file service answers a worker's questions without the session") {
  Scene scene;
  scene.files->AddFile("/cccl-root-0/a.h", "one");
  scene.files->AddFile("/cccl-root-0/b.h", "two");
  CHECK(scene.Ask("/cccl-root-0/a.h") == "one");
  CHECK(scene.Ask("/cccl-root-0/b.h") == "two");
  CHECK(scene.service->Close());
  CHECK_FALSE(scene.service->error());
}

TEST_CASE("the error of a refused file is passed to the session, which ends the worker") {
  Scene scene;
  scene.files->Refuse("/cccl-root-0/a.h", {ErrorCode::kFilesNeeded, "only the client can tell"});
  CHECK_FALSE(scene.Ask("/cccl-root-0/a.h"));
  CHECK(scene.End().code == ErrorCode::kFilesNeeded);
}

TEST_CASE("a worker with more than the maximum number of questions is ended") {
  Scene scene;
  uint64_t questions = 0;
  while (scene.Ask("/none")) ++questions;
  CHECK(questions == kMaxFileQuestions);
  const Error error = scene.End();
  CHECK(error.code == ErrorCode::kWorkerCrashed);
  CHECK_THAT(error.message, Contains("200000"));
}

TEST_CASE("a worker that reads more than the maximum bytes of files is ended") {
  Scene scene;
  constexpr uint64_t kSize = 128ull << 20;
  scene.files->AddFile("/large", std::string(kSize, 'x'));
  uint64_t taken = 0;
  while (scene.Ask("/large")) taken += kSize;
  CHECK(taken == kMaxHandedOverBytes);
  const Error error = scene.End();
  CHECK(error.code == ErrorCode::kWorkerCrashed);
  CHECK_THAT(error.message, Contains("1024 MiB"));
}

TEST_CASE("a question with an invalid name ends the worker without a look-up") {
  for (const char* name : {"a.h", "/a//b", "/a/./b", "/a/"}) {
    Scene scene;
    CHECK_FALSE(scene.Ask(name));
    CHECK(scene.End().code == ErrorCode::kWorkerCrashed);
    CHECK(scene.files->asked().empty());
  }
}

TEST_CASE("a hung question is abandoned when its job ends, and counted until the disk answers") {
  Scene scene;
  scene.files->HangAt("/a.h");
  scene.Send("/a.h");
  REQUIRE(scene.files->WaitUntilHanging());
  CHECK(scene.service->asking() == "/a.h");
  CHECK(scene.hung->count() == 0);
  CHECK_FALSE(scene.service->Close());
  CHECK(scene.hung->count() == 1);
  CHECK_FALSE(scene.service->Close());
  CHECK(scene.hung->count() == 1);
  CHECK_FALSE(scene.service->error());
  scene.service.reset();
  scene.files->Release();
  CHECK(WaitUntil([&] { return scene.hung->count() == 0; }));
}

TEST_CASE("a user with the maximum of hung reads may start none; other users may") {
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

TEST_CASE("hung reads of containers use at most half of the bound") {
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
