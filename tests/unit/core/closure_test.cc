// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/closure.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/toolchain_places.h"
#include "proto/fingerprint.h"
#include "tests/unit/core/answering_caller.h"
#include "tests/unit/core/fake_files.h"

namespace cccl_cache::daemon::closure_test {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;
using testing::FakeDisk;
using testing::FakeRequesterFiles;

const Digest kFingerprint = Sha256("fingerprint");

// Roots /a and /b: x.h is absent in /a and present in /b, where y.h is a hard link to it.
Closure Example() {
  Closure closure;
  closure.entries.push_back({{0, "x.h"}, FileKind::kAbsent, {}, 0});
  closure.entries.push_back({{1, "x.h"}, FileKind::kFile, Sha256("text"), 1});
  closure.entries.push_back({{1, "y.h"}, FileKind::kFile, Sha256("text"), 1});
  return closure;
}

void Fill(const std::shared_ptr<FakeDisk>& disk, const std::string& root) {
  disk->Write(root + "/x.h", "text", 7);
  disk->Write(root + "/y.h", "text", 7);
}

TEST_CASE("a closure is true wherever its names have the same contents") {
  const auto disk = std::make_shared<FakeDisk>();
  Fill(disk, "/b");
  Fill(disk, "/somewhere/else");
  FakeRequesterFiles here(disk, {{"/a", "/b"}, ""});
  FakeRequesterFiles there(disk, {{"/nowhere", "/somewhere/else"}, ""});
  CHECK(FirstUntrue(Example(), here, ClosureOf::kRequester) == 3);
  CHECK(FirstUntrue(Example(), there, ClosureOf::kRequester) == 3);
}

TEST_CASE("a closure is untrue after a file was changed, removed, shadowed, copied or refused") {
  const auto disk = std::make_shared<FakeDisk>();
  Fill(disk, "/b");
  FakeRequesterFiles files(disk, {{"/a", "/b"}, ""});
  size_t expected = 3;
  SECTION("changed") {
    disk->Write("/b/x.h", "other", 7);
    expected = 1;
  }
  SECTION("removed") {
    disk->Remove("/b/y.h");
    expected = 2;
  }
  SECTION("found earlier in the search order") {
    disk->Write("/a/x.h", "text");
    expected = 0;
  }
  SECTION("a copy in place of a hard link") {
    disk->Write("/b/y.h", "text", 8);
    expected = 2;
  }
  SECTION("refused") {
    disk->Refuse("/b/x.h", {ErrorCode::kFilesNeeded, "not for you"});
    expected = 1;
  }
  CHECK(FirstUntrue(Example(), files, ClosureOf::kRequester) == expected);
}

TEST_CASE("every part of a closure is in the key") {
  const Digest key = KeyOf(kFingerprint, Example());
  CHECK(KeyOf(kFingerprint, {}) == cccl_cache::KeyWithoutClosure(kFingerprint));
  CHECK(key != KeyOf(Sha256("other"), Example()));
  Closure changed = Example();
  SECTION("root") { changed.entries[1].name.root = 2; }
  SECTION("name") { changed.entries[1].name.below = "z.h"; }
  SECTION("kind") { changed.entries[1].kind = FileKind::kDirectory; }
  SECTION("digest") { changed.entries[1].digest = Sha256("other"); }
  SECTION("inode") { changed.entries[2].same_as = 2; }
  SECTION("one name fewer") { changed.entries.pop_back(); }
  CHECK(KeyOf(kFingerprint, changed) != key);
}

TEST_CASE("the key of a closure does not change by accident") {
  CHECK(KeyOf(kFingerprint, Example()).Hex() ==
        "36af073c18def1eca0751af07ab810db609d8576a79887d100f2bdbad479f91f");
}

// Returns the questions to a caller with the files `has`, for a closure of its own user or of
// another.
std::vector<std::string> AskedFor(const Closure& closure, ClosureOf whose,
                                  std::map<std::string, std::string> has) {
  testing::AnsweringCaller caller;
  caller.files = std::move(has);
  const auto files = caller.exchange->Open({{"/a", "/b"}, ""});
  static_cast<void>(FirstUntrue(closure, *files, whose));
  return caller.asked;
}

Closure OverSecrets() {
  Closure closure;
  closure.entries.push_back({{0, "config.h"}, FileKind::kFile, Sha256("theirs"), 0});
  closure.entries.push_back({{0, "private/layout.h"}, FileKind::kFile, Sha256("layout"), 1});
  closure.entries.push_back({{kAbsoluteRoot, "/home/bob/key"}, FileKind::kFile, Sha256("key"), 2});
  return closure;
}

TEST_CASE("no names of another user's closure are asked for after the first difference") {
  using Asked = std::vector<std::string>;
  CHECK(AskedFor(OverSecrets(), ClosureOf::kOthers, {}) == Asked{"/a/config.h"});
  CHECK(AskedFor(OverSecrets(), ClosureOf::kOthers, {{"/a/config.h", "mine"}}) ==
        Asked{"/a/config.h"});
  CHECK(AskedFor(OverSecrets(), ClosureOf::kOthers, {{"/a/config.h", "theirs"}}) ==
        Asked{"/a/config.h", "/a/config.h contents", "/a/private/layout.h"});
}

TEST_CASE("contents are asked for only if their claimed digest is the closure's") {
  for (const ClosureOf whose : {ClosureOf::kOthers, ClosureOf::kRequester}) {
    const auto asked = AskedFor(OverSecrets(), whose,
                                {{"/a/config.h", "theirs"},
                                 {"/a/private/layout.h", "layout"},
                                 {"/home/bob/key", "a secret"}});
    CHECK(std::ranges::count(asked, "/a/private/layout.h contents") == 1);
    CHECK(std::ranges::count(asked, "/home/bob/key contents") == 0);
  }
}

TEST_CASE("names of one search are asked for at once, and so are all names of an own closure") {
  Closure closure = Example();
  closure.entries.push_back({{0, "z.h"}, FileKind::kAbsent, {}, 0});
  closure.entries.push_back({{1, "z.h"}, FileKind::kFile, Sha256("z"), 4});
  const auto batches = [&](ClosureOf whose) {
    testing::AnsweringCaller caller;
    caller.files = {{"/b/x.h", "text"}, {"/b/y.h", "other"}};
    const auto files = caller.exchange->Open({{"/a", "/b"}, ""});
    CHECK(FirstUntrue(closure, *files, whose) == 2);
    return caller.batches;
  };
  // Questions: x.h in both roots, the contents of x.h, y.h.
  CHECK(batches(ClosureOf::kOthers) == std::vector<size_t>{2, 1, 1});
  CHECK(batches(ClosureOf::kRequester) == std::vector<size_t>{5, 1});
  // A look-up in the toolchain in between adds no message.
  closure.entries.insert(closure.entries.begin() + 1,
                         {{kToolchainRoot, "0/x.h"}, FileKind::kAbsent, {}, 0});
  for (ClosureEntry& entry : closure.entries) entry.same_as += entry.same_as > 0 ? 1 : 0;
  testing::AnsweringCaller caller;
  caller.files = {{"/b/x.h", "text"}, {"/b/y.h", "other"}};
  const auto files = WithToolchain(caller.exchange->Open({{"/a", "/b"}, ""}),
                                   std::make_shared<ToolchainHeaders>());
  CHECK(FirstUntrue(closure, *files, ClosureOf::kOthers) == 3);
  CHECK(caller.batches == std::vector<size_t>{2, 1, 1});
}

}  // namespace
}  // namespace cccl_cache::daemon::closure_test
