// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "daemon/core/lookup/history.h"

namespace cccl_cache::daemon {
namespace {

constexpr uid_t kAlice = 1000;
constexpr uid_t kBob = 1001;

PastBuild Numbered(int number) {
  PastBuild build;
  build.program = std::to_string(number);
  build.key = cccl_cache::Sha256(build.program);
  return build;
}

std::shared_ptr<const Closure> FilesOf(int count) {
  auto closure = std::make_shared<Closure>();
  for (int i = 0; i < count; ++i) {
    closure->entries.push_back({{0, std::to_string(i)}, FileKind::kFile, {}, 0});
  }
  return closure;
}

bool Knows(const BuildHistory& history, uid_t uid, int number) {
  return history.Knows(uid, Numbered(number).key);
}

TEST_CASE("a user's builds are told to him, the newest first, and to nobody else") {
  BuildHistory history(1 << 20);
  history.Add(kAlice, Account(kAlice), Numbered(1));
  history.Add(kAlice, Account(kAlice), Numbered(2));
  const auto builds = history.Of(kAlice);
  REQUIRE(builds.size() == 2);
  CHECK(builds[0]->program == "2");
  CHECK(Knows(history, kAlice, 1));
  CHECK(history.Of(kBob).empty());
  CHECK_FALSE(Knows(history, kBob, 1));
}

TEST_CASE("nothing is remembered for the uid that stands for many users") {
  BuildHistory history(1 << 20);
  history.Add(65534, Account(65534), Numbered(1));
  CHECK(history.Of(65534).empty());
}

TEST_CASE("who builds much pushes out his own oldest builds, not those of others") {
  BuildHistory history(64 << 10);
  history.Add(kBob, Account(kBob), Numbered(0));
  for (int i = 1; i <= 1000; ++i) history.Add(kAlice, Account(kAlice), Numbered(i));
  CHECK(history.bytes() <= 64 << 10);
  CHECK(Knows(history, kBob, 0));
  CHECK(Knows(history, kAlice, 1000));
  CHECK_FALSE(Knows(history, kAlice, 1));
}

TEST_CASE("when many users have much, the largest user's oldest goes first") {
  BuildHistory history(64 << 10);
  const size_t one = FootprintOf(Numbered(100));
  history.Add(kBob, Account(kBob), Numbered(0));
  for (uid_t uid = 1; uid <= 2 * BuildHistory::kShares; ++uid) {
    for (int i = 0; i < 1000; ++i) history.Add(5000 + uid, Account(5000 + uid), Numbered(i));
  }
  CHECK(history.bytes() <= 64 << 10);
  CHECK(history.bytes() > (64 << 10) - 4 * one);
  CHECK(Knows(history, kBob, 0));
}

TEST_CASE("many uids of one account push out their own builds, each seen by its uid alone") {
  BuildHistory history(64 << 10);
  const size_t share = (64 << 10) / BuildHistory::kShares;
  for (uid_t uid = kBob; uid < kBob + BuildHistory::kShares - 1; ++uid) {
    for (int i = 0; i < 5; ++i) history.Add(uid, Account(uid), Numbered(i));
  }
  const size_t before = history.bytes();
  for (uid_t uid = 100'000; uid < 101'000; ++uid) {
    history.Add(uid, Account(kAlice), Numbered(static_cast<int>(uid)));
  }
  for (uid_t uid = kBob; uid < kBob + BuildHistory::kShares - 1; ++uid) {
    CHECK(history.Of(uid).size() == 5);
  }
  CHECK(history.bytes() <= before + share);
  CHECK(history.bytes() > before);
  CHECK(Knows(history, 100'999, 100'999));
  CHECK_FALSE(Knows(history, 100'998, 100'999));
}

TEST_CASE("a user has a number of builds at the most, however small they are") {
  BuildHistory history(1 << 30);
  for (size_t i = 0; i < BuildHistory::kMaxBuilds + 10; ++i) {
    history.Add(kAlice, Account(kAlice), Numbered(static_cast<int>(i)));
  }
  CHECK(history.Of(kAlice).size() == BuildHistory::kMaxBuilds);
}

TEST_CASE("builds that read the same files share the memory of them") {
  BuildHistory history(4 << 20);
  PastBuild first = Numbered(1);
  first.closure = FilesOf(1000);
  PastBuild second = Numbered(2);
  second.closure = FilesOf(1000);
  history.Add(kAlice, Account(kAlice), first);
  const size_t before = history.bytes();
  history.Add(kAlice, Account(kAlice), second);
  CHECK(history.bytes() - before == FootprintOf(Numbered(2)));
  CHECK(history.Of(kAlice)[0]->closure == history.Of(kAlice)[1]->closure);
}

TEST_CASE("files that are too many to be remembered are left out, the build is not") {
  BuildHistory history(64 << 10);
  PastBuild build = Numbered(1);
  build.closure = FilesOf(1000);
  history.Add(kAlice, Account(kAlice), build);
  REQUIRE(history.Of(kAlice).size() == 1);
  CHECK(history.Of(kAlice)[0]->closure == nullptr);
  build = Numbered(2);
  build.options = {std::string(64 << 10, 'x')};
  history.Add(kAlice, Account(kAlice), build);
  CHECK_FALSE(Knows(history, kAlice, 2));
}

}  // namespace
}  // namespace cccl_cache::daemon
