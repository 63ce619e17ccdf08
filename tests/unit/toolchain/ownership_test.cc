// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/toolchain/trusted_path.h"

using namespace cccl_cache::daemon;
using Catch::Matchers::Contains;

namespace {

constexpr uid_t kOwn = 1000;
constexpr uid_t kOther = 1001;

std::optional<std::string> Why(uid_t owner, mode_t mode, PathRole role = PathRole::kFile) {
  struct stat status {};
  status.st_uid = owner;
  status.st_gid = 7;
  status.st_mode = mode;
  return WhyNotTrusted("/opt/x", status, role, kOwn);
}

}  // namespace

TEST_CASE("what root or the daemon's user alone can write is trusted") {
  const uid_t owner = GENERATE(uid_t{0}, kOwn);
  CHECK_FALSE(Why(owner, S_IFREG | 0755));
  CHECK_FALSE(Why(owner, S_IFDIR | 0755, PathRole::kHolder));
  CHECK_FALSE(Why(owner, S_IFDIR | 0755, PathRole::kPassedThrough));
}

TEST_CASE("what another user owns is not trusted, whatever its mode") {
  const auto role = GENERATE(PathRole::kFile, PathRole::kHolder, PathRole::kPassedThrough);
  const auto why = Why(kOther, S_IFDIR | S_ISVTX | 0555, role);
  REQUIRE(why);
  CHECK_THAT(*why, Contains("/opt/x belongs to uid 1001") && Contains("chown -R root"));
}

TEST_CASE("what a group or everybody can write is not trusted, and the error tells the mode") {
  const mode_t mode = GENERATE(0775, 0757);
  const auto why = Why(0, S_IFREG | mode);
  REQUIRE(why);
  CHECK_THAT(*why, Contains(mode == 0775 ? "mode 0775" : "mode 0757") && Contains("group 7") &&
                       Contains("chmod -R go-w"));
  CHECK(Why(kOwn, S_IFDIR | mode, PathRole::kHolder));
  CHECK(Why(kOwn, S_IFDIR | mode, PathRole::kPassedThrough));
}

TEST_CASE("a sticky directory that all can write may be passed through, and holds nothing") {
  CHECK_FALSE(Why(0, S_IFDIR | S_ISVTX | 0777, PathRole::kPassedThrough));
  CHECK(Why(0, S_IFDIR | S_ISVTX | 0777, PathRole::kHolder));
  CHECK(Why(0, S_IFREG | S_ISVTX | 0777, PathRole::kPassedThrough));
}
