// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/snapshot.pb.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "client/src/calls/snapshots.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/wire_bytes.h"

namespace snapshot_download_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::SnapshotDownload;

namespace {

v1::SnapshotCreateReply Data(const std::string& bytes) {
  v1::SnapshotCreateReply reply;
  reply.set_data(bytes);
  return reply;
}

v1::SnapshotCreateReply Summary() {
  v1::SnapshotCreateReply reply;
  reply.mutable_summary()->set_records(2);
  reply.mutable_summary()->set_bytes(6);
  reply.mutable_summary()->set_left_out(1);
  return reply;
}

struct Scene {
  Scene() : fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_APPEND)) {}
  ~Scene() { close(fd); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  [[nodiscard]] std::string Contents() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path = directory.Write("snapshot", "");
  const int fd;
};

}  // namespace

TEST_CASE("chunks are written as they come, and the summary ends the download") {
  const Scene scene;
  SnapshotDownload download(scene.fd);
  CHECK(download.Take(Received(Data("abc"))));
  CHECK(scene.Contents() == "abc");
  CHECK(download.Take(Received(Data("def"))));
  CHECK(download.Result().error().message == "the daemon's answer ended before the snapshot did");
  CHECK(download.Take(Received(Summary())));
  const auto result = download.Result();
  REQUIRE(result.ok());
  CHECK(result->records == 2);
  CHECK(result->bytes == 6);
  CHECK(result->left_out == 1);
  CHECK_FALSE(result->shared);
  CHECK_FALSE(download.Take(Received(Data("more"))));
  CHECK(scene.Contents() == "abcdef");
}

TEST_CASE("a call that is sent again rewrites the file from its start offset") {
  const Scene scene;
  REQUIRE(write(scene.fd, "head", 4) == 4);
  SnapshotDownload download(scene.fd);
  CHECK(download.Take(Received(Data("abc"))));
  download.Restart();
  CHECK(download.Take(Received(Data("de"))));
  CHECK(download.Take(Received(Summary())));
  CHECK(scene.Contents() == "headde");
  CHECK(download.Result().ok());
}

TEST_CASE("a restart fails if bytes were written to a pipe") {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe2(pipe_ends.data(), O_CLOEXEC) == 0);
  SnapshotDownload untouched(pipe_ends[1]);
  untouched.Restart();
  CHECK_FALSE(untouched.failure());
  SnapshotDownload download(pipe_ends[1]);
  CHECK(download.Take(Received(Data("abc"))));
  download.Restart();
  REQUIRE(download.failure());
  CHECK(download.Result().error().message.ends_with("write to a regular file"));
  CHECK_FALSE(download.Take(Received(Data("abc"))));
  for (const int end : pipe_ends) close(end);
}

TEST_CASE("a disk that is full ends the call with that reason") {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  SnapshotDownload download(full);
  CHECK_FALSE(download.Take(Received(Data("abc"))));
  CHECK(download.Result().error().message ==
        "the snapshot can't be written: No space left on device");
  close(full);
}

TEST_CASE("a damaged message is refused") {
  const Scene scene;
  SnapshotDownload download(scene.fd);
  CHECK_FALSE(download.Take(Received("\x0a\x05x")));
  CHECK_FALSE(download.Take(Received(std::string("\x12\x02\x08\x80", 4))));
  CHECK_FALSE(cccl_cache::DecodeSnapshotSummary("\x08").has_value());
}

}  // namespace snapshot_download_test
