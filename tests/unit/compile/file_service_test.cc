// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/compile/file_service.h"

#include <poll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>

#include "daemon/compile/protocol/packet.h"
#include "daemon/compile/wait_readable.h"
#include "tests/support/no_more_threads.h"
#include "tests/unit/compile/fake_job_files.h"

namespace cccl_cache::daemon {
namespace {

using Catch::Matchers::Contains;

constexpr std::chrono::milliseconds kPatience{60'000};  // only ever spent by a test that fails

/// A service; the test is the worker and the session.
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
  /// What the worker is answered: the contents.
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

TEST_CASE("a worker that asks nothing costs no thread, and its end is the end of it") {
  Scene scene;
  CHECK_FALSE(WaitReadable(scene.service->fd(), std::chrono::milliseconds(0)));
  scene.worker.Close();
  REQUIRE(WaitReadable(scene.service->fd(), kPatience));
  const NoMoreThreads none;
  CHECK_FALSE(scene.service->Continue());
  CHECK(scene.service->fd() == -1);
  CHECK(scene.service->Close());
}

TEST_CASE("the first question and those after it are answered without the session") {
  Scene scene;
  scene.files->AddFile("/cccl-root-0/a.h", "one");
  scene.files->AddFile("/cccl-root-0/b.h", "two");
  const int channel = scene.service->fd();
  scene.Ask("/cccl-root-0/a.h");
  CHECK_FALSE(scene.service->Continue());
  CHECK(scene.service->fd() != channel);  // from now on only an error is waited for
  CHECK(scene.Answered() == "one");
  scene.Ask("/cccl-root-0/b.h");
  CHECK(scene.Answered() == "two");
  CHECK(scene.service->Close());
  CHECK_FALSE(scene.service->error());
}

TEST_CASE("an error of the files comes to the session, for which the worker must end") {
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

TEST_CASE("a question that hangs is left behind when the job is over, and nobody waits for it") {
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

TEST_CASE("without a thread to open files with, the worker must end for that") {
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

}  // namespace
}  // namespace cccl_cache::daemon
