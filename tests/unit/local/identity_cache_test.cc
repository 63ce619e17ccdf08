// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/local/identity_cache.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temporary_directory.h"

namespace identity_cache_test {

using cccl_cache::daemon::IdentityCache;
using cccl_cache::daemon::TemporaryDirectory;
using std::filesystem::perms;

namespace {

constexpr const char* kFact = "toolchain/files/1/00ff";

std::string DirectoryIn(const TemporaryDirectory& home) {
  return IdentityCache::DefaultDirectory("", home.path());
}

}  // namespace

TEST_CASE("a fact is known to the next process, and a later one replaces it") {
  const TemporaryDirectory home;
  const std::string value("\0 and more", 10);
  IdentityCache(DirectoryIn(home)).PutMeta(kFact, value);
  CHECK(IdentityCache(DirectoryIn(home)).GetMeta(kFact) == value);
  CHECK_FALSE(IdentityCache(DirectoryIn(home)).GetMeta("toolchain/files/1/00fe"));
  IdentityCache(DirectoryIn(home)).PutMeta(kFact, "other");
  CHECK(IdentityCache(DirectoryIn(home)).GetMeta(kFact) == "other");
  // No drafts are left.
  const auto files = std::filesystem::directory_iterator(DirectoryIn(home));
  CHECK(std::distance(begin(files), end(files)) == 1);
}

TEST_CASE("the directory of facts is for its user alone") {
  const TemporaryDirectory home;
  IdentityCache cache(DirectoryIn(home));
  cache.PutMeta(kFact, "value");
  struct stat status {};
  REQUIRE(stat(DirectoryIn(home).c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("facts that others could have written are not known, and none are put there") {
  const TemporaryDirectory home;
  IdentityCache cache(DirectoryIn(home));
  cache.PutMeta(kFact, "value");
  std::filesystem::permissions(DirectoryIn(home), perms::others_write,
                               std::filesystem::perm_options::add);
  CHECK_FALSE(cache.GetMeta(kFact));
  cache.PutMeta("toolchain/files/1/00fe", "value");
  CHECK_FALSE(std::filesystem::exists(DirectoryIn(home) + "/toolchain-files-1-00fe"));
}

TEST_CASE("a file that is no fact is not known") {
  const TemporaryDirectory home;
  IdentityCache cache(DirectoryIn(home));
  cache.PutMeta(kFact, "value");
  const std::string file = DirectoryIn(home) + "/toolchain-files-1-00ff";
  REQUIRE(std::filesystem::exists(file));
  std::filesystem::resize_file(file, 4'000'000);
  CHECK_FALSE(cache.GetMeta(kFact));
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/hostname", file);
  CHECK_FALSE(cache.GetMeta(kFact));
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK_FALSE(cache.GetMeta(kFact));
}

TEST_CASE("without a home nothing is kept") {
  CHECK(IdentityCache::DefaultDirectory("", "").empty());
  CHECK(IdentityCache::DefaultDirectory("relative", "").empty());
  CHECK(IdentityCache::DefaultDirectory("relative", "/home/u") == "/home/u/.cache/cccl-cache");
  CHECK(IdentityCache::DefaultDirectory("/cache", "/home/u") == "/cache/cccl-cache");
  IdentityCache cache("");
  cache.PutMeta(kFact, "value");
  CHECK_FALSE(cache.GetMeta(kFact));
}

}  // namespace identity_cache_test
