// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure.h"

#include <catch2/catch.hpp>
#include <memory>

#include "proto/fingerprint.h"
#include "tests/unit/core/fake_files.h"

namespace cccl_cached {
namespace {

using cccl_cache::Digest;
using cccl_cache::Sha256;
using testing::FakeDisk;
using testing::FakeRequesterFiles;

const Digest kFingerprint = Sha256("fingerprint");

// Under roots /a and /b: x.h is absent in the first and found in the second; y.h is x.h again.
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
  CHECK(FirstUntrue(Example(), here) == 3);
  CHECK(FirstUntrue(Example(), there) == 3);
}

TEST_CASE("a closure is untrue once a file is changed, removed, shadowed, unlinked or refused") {
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
  CHECK(FirstUntrue(Example(), files) == expected);
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

TEST_CASE("no release changes the key of a closure by accident") {
  CHECK(KeyOf(kFingerprint, Example()).Hex() ==
        "24d617da694e89f1f8e0ab10a40541fb822761911ebffe8123987b83b9cb533a");
}

}  // namespace
}  // namespace cccl_cached
