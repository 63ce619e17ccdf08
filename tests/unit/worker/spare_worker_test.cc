// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/worker/spare_worker.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/temporary_directory.h"

namespace cccl_cache::daemon::spare_worker_test {
namespace {

constexpr size_t kMiB = 1u << 20;

/// Writes the request into the passed descriptor.
class Writer final : public SpareWorker::Role {
 public:
  void Begin() override {}
  [[noreturn]] void Work(Packet request) override {
    const ssize_t size = static_cast<ssize_t>(request.bytes.size());
    _exit(write(request.fds.at(0).get(), request.bytes.data(), request.bytes.size()) == size ? 7
                                                                                             : 1);
  }
};

int StatusOf(pid_t pid) {
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  return status;
}

Packet Request(const std::string& bytes) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  Packet packet{.bytes = bytes};
  packet.fds.emplace_back(ends[1]);
  packet.fds.emplace_back(ends[0]);
  return packet;
}

size_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) * 1024;
}

TEST_CASE("a spare worker runs its request with the passed descriptors") {
  Writer writer;
  auto spare = SpareWorker::Fork(0, writer);
  REQUIRE(spare);
  const Packet request = Request("job");
  REQUIRE(spare->Give(request));
  char text[3] = {};
  CHECK(read(request.fds[1].get(), text, sizeof(text)) == 3);
  CHECK(std::string(text, 3) == "job");
  CHECK(WEXITSTATUS(StatusOf(spare->pid())) == 7);
}

TEST_CASE("a spare worker takes a request while it still touches memory") {
  Writer writer;
  auto spare = SpareWorker::Fork(256 * kMiB, writer);
  REQUIRE(spare);
  REQUIRE(spare->Give(Request("job")));
  CHECK(WEXITSTATUS(StatusOf(spare->pid())) == 7);
}

TEST_CASE("an unused spare worker ends after its timeout") {
  Writer writer;
  pid_t pid = 0;
  {
    auto spare = SpareWorker::Fork(64 * kMiB, writer);
    REQUIRE(spare);
    pid = spare->pid();
  }
  const int status = StatusOf(pid);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("a spare worker that has died takes no request") {
  Writer writer;
  auto spare = SpareWorker::Fork(0, writer);
  REQUIRE(spare);
  kill(spare->pid(), SIGKILL);
  StatusOf(spare->pid());
  CHECK_FALSE(spare->Give(Request("job")));
}

TEST_CASE("memory is touched up to the given amount, or not at all if a request waits") {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
  const FileDescriptor here(pair[0]);
  const FileDescriptor there(pair[1]);
  KeepHeap();
  const size_t before = PeakBytes();
  REQUIRE(send(there.get(), "x", 1, 0) == 1);
  TouchHeap(512 * kMiB, here.get());
  CHECK(PeakBytes() - before < 64 * kMiB);
  char byte = 0;
  REQUIRE(recv(here.get(), &byte, 1, 0) == 1);
  TouchHeap(512 * kMiB, here.get());
  // A few of these pages were present before.
  CHECK(PeakBytes() - before >= 500 * kMiB);
}

TEST_CASE("inherited memory is the pages that this process wrote, not pages of files") {
  const TemporaryDirectory place;
  const std::string contents(64 * kMiB, 'x');
  const FileDescriptor file(open(place.Write("file", contents).c_str(), O_RDONLY | O_CLOEXEC));
  const size_t before = InheritedBytes();
  CHECK(before >= contents.size());
  void* pages =
      mmap(nullptr, contents.size(), PROT_READ, MAP_PRIVATE | MAP_POPULATE, file.get(), 0);
  REQUIRE(pages != MAP_FAILED);
  CHECK(InheritedBytes() < before + kMiB);
  munmap(pages, contents.size());
}

TEST_CASE("three quarters of the smaller need of the last two workers are touched") {
  TouchedBytes touched;
  touched.Learn(292 * kMiB, 60 * kMiB);
  CHECK(touched.For(8192 * kMiB) == 0);
  touched.Learn(252 * kMiB, 60 * kMiB);
  CHECK(touched.For(8192 * kMiB) == 120 * kMiB);
  touched.Learn(292 * kMiB, 60 * kMiB);
  CHECK(touched.For(8192 * kMiB) == 120 * kMiB);
}

TEST_CASE("nothing is touched for small compiles, even after one large compile") {
  TouchedBytes touched;
  for (const size_t growth : {27, 29, 200, 28, 27}) {
    touched.Learn((60 + growth) * kMiB, 60 * kMiB);
    CHECK(touched.For(8192 * kMiB) == 0);
  }
  touched.Learn(20 * kMiB, 60 * kMiB);
  CHECK(touched.For(8192 * kMiB) == 0);
}

TEST_CASE("nothing is touched for compiles with precompiled headers") {
  TouchedBytes touched;
  for (int i = 0; i < 2; ++i) touched.Learn(460 * kMiB, 60 * kMiB, true);
  CHECK(touched.For(8192 * kMiB) == 0);
}

TEST_CASE("the touched amount falls if workers do not use it") {
  TouchedBytes touched;
  for (int i = 0; i < 2; ++i) touched.Learn(260 * kMiB, 60 * kMiB);
  size_t before = touched.For(8192 * kMiB);
  REQUIRE(before > 100 * kMiB);
  for (int i = 0; i < 10; ++i)
    touched.Learn(60 * kMiB + 30 * kMiB + touched.For(8192 * kMiB), 60 * kMiB);
  CHECK(touched.For(8192 * kMiB) < 16 * kMiB);
}

TEST_CASE("at most 256 MiB and a sixteenth of the job's memory limit are touched") {
  TouchedBytes touched;
  for (int i = 0; i < 2; ++i) touched.Learn(4096 * kMiB, 0);
  CHECK(touched.For(64 * kMiB) == 4 * kMiB);
  CHECK(touched.For(8192 * kMiB) == 256 * kMiB);
}

TEST_CASE("SetHeapAside leaves little free memory at the end of the heap") {
  KeepHeap();
  free(malloc(16 * kMiB));
  const HeapSetAside aside = SetHeapAside();
  CHECK(mallinfo2().keepcost <= kMiB / 2);
}

TEST_CASE("touching ends at once when a request arrives") {
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  REQUIRE(write(sockets[1], "x", 1) == 1);
  // More than any machine has, so only the socket ends it.
  TouchHeap(size_t{1} << 40, sockets[0]);
  char byte = 0;
  CHECK(read(sockets[0], &byte, 1) == 1);  // the byte was not consumed
  for (const int socket : sockets) close(socket);
}

TEST_CASE("an amount below one piece is not touched") {
  std::array<int, 2> sockets{};
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) == 0);
  TouchHeap(1000, sockets[0]);
  TouchHeap(33u << 20, sockets[0]);
  TouchHeap(33u << 20, sockets[0]);
  for (const int socket : sockets) close(socket);
}

}  // namespace
}  // namespace cccl_cache::daemon::spare_worker_test
