// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/sent_files.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/fake_files.h"

namespace cccl_cache::daemon::sent_files_test {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;
using testing::DirectoriesIn;
using testing::FakeFileAccess;

constexpr uid_t kUid = 1000;
const Error kClosed{ErrorCode::kFilesNeeded, "closed"};

ClosureEntry File(FileName name, const std::string& text, uint32_t same_as) {
  return {std::move(name), FileKind::kFile, Sha256(text), same_as};
}

/// Returns the closure of a build below /p: two names of one file, another file, a directory, and
/// an absent name.
Closure Answered() {
  return {{File({0, "x.h"}, "x", 0),
           File({1, "link.h"}, "x", 0),
           File({1, "y.h"}, "y", 2),
           {{1, "below"}, FileKind::kDirectory, Digest{}, 3},
           {{0, "y.h"}, FileKind::kAbsent, Digest{}, 0}}};
}

/// The files of a caller that has left.
struct Scene {
  Scene() {
    for (const char* path : {"/p/src/x.h", "/p/include/link.h", "/p/include/y.h"}) {
      access.disk->Refuse(path, kClosed);
    }
  }
  void Send(const std::string& text, uid_t uid = kUid) {
    sent->Keep(uid, Account(uid), Sha256(text), std::make_shared<const std::string>(text));
  }
  RecalledFiles Recall(const RootDirectories& directories = DirectoriesIn("/p")) {
    return {std::make_shared<const AnsweredFiles>(AnsweredFiles{DirectoriesIn("/p"), Answered()}),
            directories, RecalledFiles::Sources{kUid, sent, access.Of({}, directories)}};
  }

  FakeFileAccess access;
  const std::shared_ptr<SentContents> sent =
      std::make_shared<SentContents>(std::chrono::steady_clock::now);
};

TEST_CASE("RecalledFiles returns the recorded answers, with the sent contents") {
  Scene scene;
  scene.Send("x");
  scene.Send("y");
  RecalledFiles files = scene.Recall();
  CHECK(*files.Read({0, "x.h"})->bytes == "x");
  CHECK(*files.Read({1, "y.h"})->bytes == "y");
  CHECK(files.Look({0, "x.h"})->digest == Sha256("x"));
  CHECK(files.Read({0, "y.h"})->seen.kind == FileKind::kAbsent);
  CHECK(files.Read({1, "below"})->seen.kind == FileKind::kDirectory);
  CHECK(FirstUntrue(Answered(), files, ClosureOf::kRequester) == Answered().entries.size());
}

TEST_CASE("names of one file keep one inode, and other names have other inodes") {
  Scene scene;
  RecalledFiles files = scene.Recall();
  const auto inode = [&](const FileName& name) { return files.Look(name)->inode; };
  CHECK(inode({0, "x.h"}) == inode({1, "link.h"}));
  CHECK(inode({0, "x.h"}) != inode({1, "y.h"}));
  CHECK(inode({1, "y.h"}) != inode({1, "below"}));
}

TEST_CASE("a path has the same answer under any root") {
  Scene scene;
  scene.Send("y");
  RootDirectories directories = DirectoriesIn("/p");
  directories.roots.insert(directories.roots.begin(), "/p");
  RecalledFiles files = scene.Recall(directories);
  CHECK(*files.Read({0, "include/y.h"})->bytes == "y");
  CHECK(*files.Read({kAbsoluteRoot, "/p/include/y.h"})->bytes == "y");
  CHECK(files.Look({kWorkingDirectoryRoot, "src/y.h"})->kind == FileKind::kAbsent);
}

TEST_CASE("a name without a root is absent") {
  Scene scene;
  RootDirectories directories = DirectoriesIn("/p");
  directories.working_directory.clear();
  CHECK(scene.Recall(directories).Look({kWorkingDirectoryRoot, "z.h"})->kind == FileKind::kAbsent);
}

TEST_CASE("a file without a recorded answer gets files-needed") {
  Scene scene;
  RecalledFiles files = scene.Recall();
  CHECK(files.Look({1, "z.h"}).error().code == ErrorCode::kFilesNeeded);
  CHECK(files.Read({1, "z.h"}).error().code == ErrorCode::kFilesNeeded);
}

TEST_CASE("contents that expired, or that another user sent, are not found") {
  Scene scene;
  scene.Send("x", kUid + 1);
  RecalledFiles files = scene.Recall();
  CHECK(files.Look({0, "x.h"}).ok());
  CHECK(files.Read({0, "x.h"}).error().code == ErrorCode::kFilesNeeded);
}

TEST_CASE("RecalledFiles reads a file that the daemon may open, if it is unchanged") {
  Scene scene;
  FakeFileAccess open;
  open.disk->Write("/p/include/y.h", "y");
  const RootDirectories directories = DirectoriesIn("/p");
  RecalledFiles files(std::make_shared<const AnsweredFiles>(AnsweredFiles{directories, Answered()}),
                      directories, {kUid, scene.sent, open.Of({}, directories)});
  CHECK(*files.Read({1, "y.h"})->bytes == "y");
  CHECK(files.Read({1, "y.h"})->seen.inode == files.Look({1, "y.h"})->inode);
  open.disk->Write("/p/include/y.h", "changed");
  CHECK(files.Read({1, "y.h"}).error().code == ErrorCode::kFilesNeeded);
}

std::shared_ptr<const std::string> Text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST_CASE("sent contents are found only for their sender, and only for a limited time") {
  auto now = std::chrono::steady_clock::now();
  SentContents sent([&] { return now; });
  CHECK_FALSE(sent.SentAny(1000));
  sent.Keep(1000, Account(1000), Sha256("a"), Text("a"));
  CHECK(sent.SentAny(1000));
  CHECK(*sent.Find(1000, Sha256("a")) == "a");
  CHECK(sent.WasSent(1000, Sha256("a")));
  CHECK_FALSE(sent.WasSent(1000, Sha256("b")));
  CHECK(sent.Find(1001, Sha256("a")) == nullptr);
  CHECK_FALSE(sent.WasSent(1001, Sha256("a")));
  CHECK_FALSE(sent.SentAny(1001));

  now += std::chrono::minutes(11);
  CHECK(sent.Find(1000, Sha256("a")) == nullptr);
  CHECK(sent.WasSent(1000, Sha256("a")));
  now += std::chrono::hours(24);
  CHECK_FALSE(sent.WasSent(1000, Sha256("a")));
}

TEST_CASE("one user's contents do not evict another's") {
  SentContents sent(std::chrono::steady_clock::now);
  sent.Keep(1000, Account(1000), Sha256("a"), Text("a"));
  for (int i = 0; i < 40; ++i) {
    sent.Keep(1001, Account(1001), Sha256(std::to_string(i)), Text(std::string(8 << 20, 'x')));
  }
  CHECK(sent.Find(1000, Sha256("a")) != nullptr);
  CHECK(sent.Find(1001, Sha256("0")) == nullptr);
  CHECK(sent.Find(1001, Sha256("39")) != nullptr);
  CHECK(sent.WasSent(1001, Sha256("0")));
}

}  // namespace
}  // namespace cccl_cache::daemon::sent_files_test
