// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "cccl_cache/client_c.h"

namespace c_names_test {

namespace {

/// Returns the names of the values from `first` to `last`.
template <typename Value>
std::set<std::string> Names(const char* (*name)(Value), int first, int last) {
  std::set<std::string> names;
  for (int value = first; value <= last; ++value) names.insert(name(static_cast<Value>(value)));
  return names;
}

}  // namespace

TEST_CASE("each value of an enumeration has a different name, and none is unknown") {
  const auto statuses = Names(cccl_cache_status_name, CCCL_CACHE_OK, CCCL_CACHE_NOT_CACHED);
  CHECK(statuses.size() == CCCL_CACHE_NOT_CACHED + 1);
  CHECK(statuses.count("unknown") == 0);
  CHECK(Names(cccl_cache_outcome_name, CCCL_CACHE_HIT, CCCL_CACHE_LOCAL).size() == 6);
  CHECK(Names(cccl_cache_tier_name, CCCL_CACHE_TIER_NONE, CCCL_CACHE_TIER_PROCESS).size() == 6);
  CHECK(Names(cccl_cache_artifact_kind_name, CCCL_CACHE_PTX, CCCL_CACHE_OPTIXIR).size() == 4);
}

TEST_CASE("names that scripts rely on do not change") {
  CHECK(std::string(cccl_cache_status_name(CCCL_CACHE_NO_DAEMON)) == "no-daemon");
  CHECK(std::string(cccl_cache_status_name(CCCL_CACHE_LEASE_LOST)) == "lease-lost");
  CHECK(std::string(cccl_cache_outcome_name(CCCL_CACHE_UNCACHEABLE)) == "uncacheable");
  CHECK(std::string(cccl_cache_artifact_kind_name(CCCL_CACHE_LTOIR)) == "ltoir");
  CHECK(std::string(cccl_cache_version()).find('.') != std::string::npos);
}

}  // namespace c_names_test
