// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/daemons_rights.h"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "daemon/service/limits/daemons_rights.h"

namespace cccl_cache::daemon {
namespace {

std::string Link() {
  std::array<char, 128> link;
  const std::string path = "/proc/self/fd/" + std::to_string(kRightsDescriptor);
  const ssize_t size = readlink(path.c_str(), link.data(), link.size());
  return size < 0 ? "" : std::string(link.data(), static_cast<size_t>(size));
}

TEST_CASE("the daemon's rights are proven by its secret alone") {
  std::string secret;
  {
    const DaemonsRights rights;
    secret = RightsIn(Link());
    CHECK(rights.AreProvenBy(secret));
    CHECK_FALSE(rights.AreProvenBy(""));
    CHECK_FALSE(rights.AreProvenBy(std::string(64, '0')));
    // A second object publishes no secret: the descriptor number is in use.
    CHECK_FALSE(DaemonsRights().AreProvenBy(secret));
    CHECK_FALSE(DaemonsRights().AreProvenBy(""));
  }
  CHECK(Link().empty());
  CHECK_FALSE(DaemonsRights().AreProvenBy(secret));
}

TEST_CASE("a client accepts a secret only from the daemon's own link") {
  const std::string secret(64, 'a');
  CHECK(RightsIn("/memfd:cccl-cached:" + secret + " (deleted)") == secret);
  CHECK(RightsIn("/memfd:cccl-cached:" + secret.substr(1) + " (deleted)").empty());
  CHECK(RightsIn("/memfd:other:" + secret).empty());
  CHECK(RightsIn("/home/user/" + secret).empty());
  CHECK(RightsIn("socket:[4711]").empty());
  CHECK(RightsIn("").empty());
}

}  // namespace
}  // namespace cccl_cache::daemon
