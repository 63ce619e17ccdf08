// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/model/requester_files.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/fake_files.h"

namespace cccl_cache::daemon::requester_files_test {
namespace {

using testing::AnsweringCaller;
using testing::DirectoriesIn;
using testing::FakeFileAccess;

const RootDirectories kDirectories{{"/src", "/include/", "", "relative"}, "/place"};

TEST_CASE("PathOf joins the root's path and the name below the root") {
  CHECK(kDirectories.PathOf({0, "a.h"}) == "/src/a.h");
  CHECK(kDirectories.PathOf({1, "deep/a.h"}) == "/include/deep/a.h");
  CHECK(kDirectories.PathOf({0, ""}) == "/src");
  CHECK(kDirectories.PathOf({0, "../a.h"}) == "/src/../a.h");
  CHECK(kDirectories.PathOf({kWorkingDirectoryRoot, "a.h"}) == "/place/a.h");
  CHECK(kDirectories.PathOf({kAbsoluteRoot, "/opt/a.h"}) == "/opt/a.h");
}

TEST_CASE("PathOf is empty if the root is absent or invalid") {
  CHECK(kDirectories.PathOf({2, "a.h"}).empty());
  CHECK(kDirectories.PathOf({3, "a.h"}).empty());
  CHECK(kDirectories.PathOf({4, "a.h"}).empty());
  CHECK(kDirectories.PathOf({kAbsoluteRoot, "opt/a.h"}).empty());
  CHECK(kDirectories.PathOf({kAbsoluteRoot, ""}).empty());
  CHECK(RootDirectories().PathOf({kWorkingDirectoryRoot, "a.h"}).empty());
}

const Peer kAlice{1000, 1000, {}, 1};
const Error kClosed{ErrorCode::kFilesNeeded, "closed"};

TEST_CASE("the daemon reads files that it may open, and asks the caller for other files") {
  FakeFileAccess access;
  access.disk->Write("/p/src/open.h", "the daemon's");
  access.disk->Refuse("/p/include/closed.h", kClosed);
  AnsweringCaller caller;
  caller.files = {{"/p/src/open.h", "the caller's"}, {"/p/include/closed.h", "closed text"}};
  const auto files = OpenFiles(access, {kAlice, caller.exchange}, DirectoriesIn("/p"));
  CHECK(*files->Read({0, "open.h"})->bytes == "the daemon's");
  CHECK(*files->Read({1, "closed.h"})->bytes == "closed text");
  CHECK(files->Look({1, "closed.h"})->digest == cccl_cache::Sha256("closed text"));
  CHECK(files->Look({1, "absent.h"})->kind == FileKind::kAbsent);
  CHECK(caller.asked ==
        std::vector<std::string>{"/p/include/closed.h contents", "/p/include/closed.h"});
}

TEST_CASE("a closed file gets files-needed if the caller sends no files") {
  FakeFileAccess access;
  access.disk->Refuse("/p/include/closed.h", kClosed);
  const auto files = OpenFiles(access, kAlice, DirectoriesIn("/p"));
  CHECK(files->Read({1, "closed.h"}).error().code == ErrorCode::kFilesNeeded);
}

TEST_CASE("the caller is not asked for a file that is refused to all users") {
  FakeFileAccess access;
  access.disk->Refuse("/p/include/fifo", {ErrorCode::kDenied, "a FIFO"});
  AnsweringCaller caller;
  const auto files = OpenFiles(access, {kAlice, caller.exchange}, DirectoriesIn("/p"));
  CHECK(files->Read({1, "fifo"}).error().code == ErrorCode::kDenied);
  CHECK(caller.asked.empty());
}

TEST_CASE("the caller is asked only for expected names that the daemon can't open") {
  FakeFileAccess access;
  access.disk->Write("/p/src/open.h", "open");
  access.disk->Refuse("/p/include/1", kClosed);
  access.disk->Refuse("/p/include/2", kClosed);
  AnsweringCaller caller;
  const auto files = OpenFiles(access, {kAlice, caller.exchange}, DirectoriesIn("/p"));
  const std::vector<FileName> names = {{0, "open.h"}, {1, "1"}, {0, "absent.h"}, {1, "2"}};
  files->Expect(std::vector<ExpectedFile>{{&names[0]}, {&names[1]}, {&names[2]}, {&names[3]}});
  CHECK(caller.batches == std::vector<size_t>{2});
  const int looks = access.disk->looks();
  CHECK(files->Look(names[0])->digest == cccl_cache::Sha256("open"));
  CHECK(files->Look(names[2])->kind == FileKind::kAbsent);
  CHECK(access.disk->looks() == looks);
  CHECK(files->Look(names[3])->kind == FileKind::kAbsent);
  CHECK(caller.batches == std::vector<size_t>{2});
}

}  // namespace
}  // namespace cccl_cache::daemon::requester_files_test
