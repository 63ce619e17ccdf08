// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/lookup/manifest.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/codec.h"
#include "daemon/core/model/account.h"

namespace cccl_cache::daemon::manifest_test {
namespace {

using cccl_cache::Sha256;

KnownClosure OneFile(const std::string& text) {
  KnownClosure known;
  known.closure.entries.push_back({{1, "x.h"}, FileKind::kFile, Sha256(text), 0});
  return known;
}

Manifest Example() {
  Manifest manifest;
  manifest.Add(OneFile("one"));
  KnownClosure known = OneFile("two");
  known.shows_paths = true;
  known.owner = 1000;
  known.closure.entries.push_back({{kAbsoluteRoot, "/x"}, FileKind::kAbsent, {}, 0});
  known.closure.entries.push_back({{2, ""}, FileKind::kDirectory, {}, 2});
  manifest.Add(known);
  return manifest;
}

TEST_CASE("a decoded manifest equals the encoded one") {
  CHECK(DecodeManifest(EncodeManifest(Example())) == Example());
  CHECK(DecodeManifest(EncodeManifest({})) == Manifest{});
}

TEST_CASE("a manifest lists each closure once, the newest first, up to kMaxClosures") {
  Manifest manifest;
  for (int i = 0; i < 100; ++i) manifest.Add(OneFile(std::to_string(i)));
  manifest.Add(OneFile("98"));
  REQUIRE(manifest.closures.size() == Manifest::kMaxClosures);
  CHECK(manifest.closures[0] == OneFile("98"));
  CHECK(manifest.closures[1] == OneFile("99"));
}

TEST_CASE("a user's newer closures evict only that user's older ones") {
  Manifest manifest;
  for (uid_t uid = 0; uid < 10; ++uid)
    manifest.Add({OneFile(std::to_string(uid)).closure, false, uid});
  for (int i = 100; i < 150; ++i) manifest.Add({OneFile(std::to_string(i)).closure, false, 5});
  CHECK(manifest.closures.size() == 9 + Manifest::kMaxClosuresOfAccount);
  CHECK(manifest.closures.front().closure == OneFile("149").closure);
  CHECK(manifest.closures.back().owner == uid_t{0});
  for (uid_t uid = 10; uid < 200; ++uid) {
    manifest.Add({OneFile(std::to_string(uid)).closure, false, uid});
  }
  CHECK(manifest.closures.size() == Manifest::kMaxClosures);
}

/// The accounts of a node. Uids from 100,000 on belong to user 1000, and the uids of containers to
/// 16 accounts.
std::optional<Account> AccountOf(uid_t uid) {
  if (IsContainerUser(uid)) return Account(kFirstContainerUser + uid % 16);
  return Account(uid >= 100'000 ? 1000 : uid);
}

/// Adds `count` different closures that only this user owns.
void AddMany(Manifest& manifest, uid_t uid, int count) {
  for (int i = 0; i < count; ++i) {
    manifest.Add({OneFile(std::to_string(uid) + "/" + std::to_string(i)).closure, false, uid},
                 AccountOf);
  }
}

size_t CountOf(const Manifest& manifest, uid_t uid) {
  return std::ranges::count(manifest.closures, std::optional(uid), &KnownClosure::owner);
}

TEST_CASE("a user with many uids evicts its own closures and no other user's") {
  Manifest manifest;
  AddMany(manifest, 4002, 1);
  for (uid_t uid = 100'000; uid < 100'100; ++uid) AddMany(manifest, uid, 1);
  CHECK(CountOf(manifest, 4002) == 1);
  CHECK(manifest.closures.size() == 1 + Manifest::kMaxClosuresOfAccount);
}

TEST_CASE("containers evict each other's closures, not those of users of the node") {
  Manifest manifest;
  const uid_t other = kFirstContainerUser + 15;
  AddMany(manifest, other, 1);
  for (uid_t uid = 1000; uid < 1005; ++uid) AddMany(manifest, uid, 8);
  // Fifteen containers with nine uids each.
  for (uid_t i = 0; i < 15; ++i) {
    for (uid_t uid = 16; uid < 160; uid += 16) AddMany(manifest, kFirstContainerUser + uid + i, 8);
  }
  CHECK(manifest.closures.size() == Manifest::kMaxClosures);
  for (uid_t uid = 1000; uid < 1005; ++uid) CHECK(CountOf(manifest, uid) >= 6);
  CHECK(CountOf(manifest, other) == 1);
  AddMany(manifest, other, 1);
  CHECK(CountOf(manifest, other) == 1);
}

TEST_CASE("among too many closures, the oldest of the largest account is evicted") {
  Manifest manifest;
  AddMany(manifest, 5, 1);
  AddMany(manifest, 6, 8);
  for (size_t i = 9; i < Manifest::kMaxClosures; ++i) AddMany(manifest, 2000 + i, 1);
  AddMany(manifest, 7, 2);
  CHECK(CountOf(manifest, 5) == 1);
  CHECK(CountOf(manifest, 6) == 6);
  CHECK(CountOf(manifest, 7) == 2);
}

TEST_CASE("the uid of a container user is neither encoded nor decoded") {
  Manifest manifest = Example();
  constexpr uid_t kUser = 1'234'567;
  manifest.closures[0].owner = kUser;
  const std::string of_user = EncodeManifest(manifest);
  const auto bytes = [](uid_t uid) { return ByteWriter().Put<uint32_t>(uid).Joined(); };
  std::string of_container = of_user;  // as written by versions that did not distinguish the two
  of_container.replace(of_container.find(bytes(kUser)), 4, bytes(kFirstContainerUser + 7));
  manifest.closures[0].owner.reset();
  CHECK(DecodeManifest(of_container) == manifest);
  const std::string without = EncodeManifest(manifest);
  manifest.closures[0].owner = kFirstContainerUser + 7;
  CHECK(EncodeManifest(manifest) == without);
}

TEST_CASE("SaysMoreThan is true if a closure is new or changed, whatever the order") {
  Manifest before = Example();
  for (KnownClosure& known : before.closures) known.key = KeyOf({}, known.closure);
  Manifest now = before;
  std::ranges::reverse(now.closures);
  CHECK_FALSE(now.SaysMoreThan(before));
  now.closures.pop_back();
  CHECK_FALSE(now.SaysMoreThan(before));
  CHECK(before.SaysMoreThan(now));
  now = before;
  now.closures.front().shows_paths = !now.closures.front().shows_paths;
  CHECK(now.SaysMoreThan(before));
}

TEST_CASE("Add replaces an equal closure") {
  Manifest manifest;
  manifest.Add(OneFile("a"));
  KnownClosure shows = OneFile("a");
  shows.shows_paths = true;
  manifest.Add(shows);
  CHECK(manifest.closures == std::vector<KnownClosure>{shows});
}

Toolchain WithHeader(uint64_t serial, const std::string& contents) {
  Toolchain toolchain;
  toolchain.serial = serial;
  toolchain.contents = std::make_shared<const ToolchainHeaders>(
      std::vector<ToolchainHeaders::File>{{"0/cub/cub.cuh", cccl_cache::Sha256(contents), {1, 1}},
                                          {"0/other.h", cccl_cache::Sha256("other"), {1, 2}}},
      std::vector<ToolchainHeaders::Directory>{}, false);
  return toolchain;
}

TEST_CASE("a closure without files is true for every toolchain") {
  const Toolchain toolchain = WithHeader(1, "cub");
  Manifest manifest;
  manifest.Add(OneFile("a"));
  CHECK(manifest.FindTrueWith(toolchain) == nullptr);
  manifest.Add({.closure = {}, .shows_paths = true});
  manifest.Add(OneFile("b"));
  REQUIRE(manifest.FindTrueWith(toolchain) != nullptr);
  CHECK(manifest.FindTrueWith(toolchain)->shows_paths);
}

TEST_CASE("a closure of toolchain headers is true for a toolchain with equal headers") {
  const Toolchain toolchain = WithHeader(1, "cub");
  Manifest manifest;
  const auto entry = [&](const std::string& place) {
    const SeenFile seen = SeenIn(*toolchain.contents, {kToolchainRoot, place}).value();
    return ClosureEntry{{kToolchainRoot, place}, seen.kind, seen.digest, 0};
  };
  manifest.Add({.closure = {{entry("0/cub"), entry("0/absent.h")}}});
  CHECK(manifest.closures[0].closure.entries[0].kind == FileKind::kToolchain);
  CHECK(manifest.closures[0].closure.entries[1].kind == FileKind::kAbsent);
  CHECK(DecodeManifest(EncodeManifest(manifest)) == manifest);
  CHECK(manifest.FindTrueWith(toolchain) == &manifest.closures[0]);
  CHECK(manifest.FindTrueWith(toolchain) == &manifest.closures[0]);  // from the remembered verdict
  CHECK(manifest.FindTrueWith(WithHeader(2, "another")) == nullptr);
  CHECK(manifest.FindTrueWith(WithHeader(3, "cub")) == &manifest.closures[0]);
  Toolchain more = WithHeader(4, "cub");
  more.contents = std::make_shared<const ToolchainHeaders>(
      std::vector<ToolchainHeaders::File>{{"0/absent.h", cccl_cache::Sha256(""), {1, 3}},
                                          {"0/cub/cub.cuh", cccl_cache::Sha256("cub"), {1, 1}}},
      std::vector<ToolchainHeaders::Directory>{}, false);
  CHECK(manifest.FindTrueWith(more) == nullptr);
  // A newer closure moves this one to index 1: its remembered verdict moves with it.
  CHECK(manifest.FindTrueWith(toolchain) == &manifest.closures[0]);
  manifest.Add({.closure = {{ClosureEntry{{kToolchainRoot, "0/cub"}, FileKind::kAbsent, {}, 0}}}});
  CHECK(manifest.FindTrueWith(toolchain) == &manifest.closures[1]);
}

TEST_CASE("a manifest is refused if only one of an entry's root and kind is the toolchain's") {
  const auto decodes = [](uint32_t root, FileKind kind) {
    Manifest manifest;
    manifest.Add({.closure = {{ClosureEntry{{root, "0/cub"}, kind, cccl_cache::Sha256("x"), 0}}}});
    return DecodeManifest(EncodeManifest(manifest)).has_value();
  };
  CHECK(decodes(kToolchainRoot, FileKind::kToolchain));
  CHECK_FALSE(decodes(kToolchainRoot, FileKind::kFile));
  CHECK_FALSE(decodes(kToolchainRoot, FileKind::kDirectory));
  CHECK_FALSE(decodes(0, FileKind::kToolchain));
}

TEST_CASE("a manifest that is cut short, longer or of another version is refused") {
  const std::string bytes = EncodeManifest(Example());
  for (size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(DecodeManifest(bytes.substr(0, length)));
  }
  CHECK_FALSE(DecodeManifest(bytes + "x"));
  std::string other_version = bytes;
  other_version[0] = 99;
  CHECK_FALSE(DecodeManifest(other_version));
}

KnownClosure Names(size_t count, size_t length, char first = 'x') {
  const std::string name = first + std::string(length - 1, 'x');
  KnownClosure known;
  known.closure.entries.resize(count, {{1, name}, FileKind::kAbsent, {}, 0});
  return known;
}

TEST_CASE("a manifest with more names than a compile can have is refused") {
  const auto decoded = [](KnownClosure known) {
    return DecodeManifest(EncodeManifest({{std::move(known)}})).has_value();
  };
  CHECK(decoded(Names(kMaxClosureNames, 1)));
  CHECK_FALSE(decoded(Names(kMaxClosureNames + 1, 1)));
  CHECK(decoded(Names(4'096, kMaxClosureNameBytes / 4'096)));
  CHECK_FALSE(decoded(Names(4'097, kMaxClosureNameBytes / 4'096)));
}

TEST_CASE("a manifest with more closures than are kept is refused") {
  Manifest manifest;
  for (size_t i = 0; i < Manifest::kMaxClosures; ++i) {
    manifest.closures.push_back(OneFile(std::to_string(i)));
  }
  CHECK(DecodeManifest(EncodeManifest(manifest)) == manifest);
  manifest.closures.push_back(OneFile("one more"));
  CHECK_FALSE(DecodeManifest(EncodeManifest(manifest)));
}

TEST_CASE("the oldest closures are dropped when all together are too large") {
  Manifest manifest;
  for (const char first : {'a', 'b', 'c'}) {
    manifest.Add(Names(4'096, kMaxClosureNameBytes / 4'096, first));
  }
  REQUIRE(manifest.closures.size() == 1);
  CHECK(manifest.closures[0].closure.entries[0].name.below.front() == 'c');
  manifest.Add(OneFile("small"));
  CHECK(manifest.closures.size() == 2);
  CHECK(DecodeManifest(EncodeManifest(manifest)) == manifest);
  manifest.closures.push_back(Names(4'096, kMaxClosureNameBytes / 4'096));
  CHECK_FALSE(DecodeManifest(EncodeManifest(manifest)));
}

TEST_CASE("long closures of one user evict no closure of another user") {
  Manifest manifest;
  manifest.Add({OneFile("short").closure, false, 1000});
  for (const char first : {'a', 'b', 'c'}) {
    KnownClosure known = Names(4'096, kMaxClosureNameBytes / 4'096, first);
    known.owner = 1001;
    manifest.Add(known);
  }
  REQUIRE(manifest.closures.size() == 2);
  CHECK(manifest.closures[0].closure.entries[0].name.below.front() == 'c');
  CHECK(manifest.closures[1].owner == uid_t{1000});
}

TEST_CASE("a manifest is refused if an entry has the inode of a later entry") {
  Manifest manifest;
  manifest.Add(OneFile("x"));
  manifest.closures[0].closure.entries[0].same_as = 1;
  CHECK_FALSE(DecodeManifest(EncodeManifest(manifest)));
}

}  // namespace
}  // namespace cccl_cache::daemon::manifest_test
