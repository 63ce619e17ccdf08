// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <cccl_cache/v1/snapshot.pb.h>
#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "client/src/calls/snapshots.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/client/wire_bytes.h"

namespace snapshot_upload_test {

namespace v1 = cccl_cache::v1;
using cccl_cache::SnapshotUpload;

namespace {

struct Scene {
  explicit Scene(const std::string& contents)
      : path(directory.Write("snapshot", contents)), fd(open(path.c_str(), O_RDWR | O_CLOEXEC)) {}
  ~Scene() { close(fd); }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  cccl_cache::daemon::TemporaryDirectory directory;
  const std::string path;
  const int fd;
};

v1::SnapshotInsertRequest Next(SnapshotUpload& upload) {
  const cccl_cache::ByteChain* said = upload.Next();
  REQUIRE(said != nullptr);
  return Sent<v1::SnapshotInsertRequest>(*said);
}

}  // namespace

TEST_CASE("a file is sent in pieces of 1 MiB, and the last piece is marked") {
  const std::string contents((5u << 19) + 3, 'x');
  const Scene scene(contents);
  SnapshotUpload upload(scene.fd, contents.size());
  std::string sent;
  for (int i = 0; i < 3; ++i) {
    const auto message = Next(upload);
    CHECK(message.data().size() <= 1u << 20);
    CHECK(message.last() == (i == 2));
    sent += message.data();
  }
  CHECK(sent == contents);
  CHECK(upload.Next() == nullptr);
  CHECK_FALSE(upload.failure());
}

TEST_CASE("an empty file is one message, and full pieces are not followed by an empty one") {
  const Scene empty("");
  SnapshotUpload nothing(empty.fd, 0);
  CHECK(Next(nothing).last());
  CHECK(nothing.Next() == nullptr);
  const Scene whole(std::string(1u << 20, 'x'));
  SnapshotUpload one(whole.fd, 1u << 20);
  CHECK(Next(one).last());
}

TEST_CASE("a file that became shorter, or can't be read, ends the upload with the reason") {
  const Scene scene("12345");
  SnapshotUpload shorter(scene.fd, 1u << 21);
  CHECK_FALSE(Next(shorter).last());
  CHECK(Next(shorter).last());
  REQUIRE(shorter.failure());
  CHECK(shorter.failure()->message == "the snapshot can't be read: it became shorter meanwhile");
  SnapshotUpload closed(-1, 5);
  CHECK(Next(closed).last());
  CHECK(closed.failure()->message == "the snapshot can't be read: Bad file descriptor");
}

TEST_CASE("a call that is sent again begins at the file's start") {
  const Scene scene("12345");
  SnapshotUpload upload(scene.fd, 5);
  static_cast<void>(Next(upload));
  upload.Restart();
  const auto again = Next(upload);
  CHECK(again.data() == "12345");
  CHECK(again.last());
}

TEST_CASE("the answer of an upload is exactly one summary") {
  const Scene scene("");
  SnapshotUpload upload(scene.fd, 0);
  CHECK(upload.Result().error().status == CCCL_CACHE_PROTOCOL);
  v1::SnapshotInsertReply reply;
  CHECK_FALSE(upload.Take(Received(reply)));
  reply.mutable_summary()->set_records(3);
  reply.mutable_summary()->set_shared(true);
  CHECK(upload.Take(Received(reply)));
  CHECK(upload.Result()->records == 3);
  CHECK(upload.Result()->shared);
  CHECK_FALSE(upload.Take(Received(reply)));
}

TEST_CASE("a damaged summary is refused") {
  const Scene scene("");
  SnapshotUpload upload(scene.fd, 0);
  CHECK_FALSE(upload.Take(Received(std::string("\x0a\x02\x08\x80", 4))));
  CHECK_FALSE(upload.Take(Received("\x0a\x09x")));
}

}  // namespace snapshot_upload_test
