// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/snapshot_calls.h"

#include <catch2/catch.hpp>

#include "proto/snapshot/snapshot.h"

namespace cccl_cache::daemon::snapshot_calls_test {
namespace {

namespace v1 = cccl_cache::v1;

std::string Refusal(const v1::SnapshotFilter& message) {
  const auto filter = FromProto(message);
  if (filter.ok()) return "taken";
  CHECK(filter.error().code == ErrorCode::kInvalidRequest);
  return filter.error().message;
}

TEST_CASE("every field of a filter arrives") {
  v1::SnapshotFilter message;
  message.set_toolchain("13");
  message.set_arch("sm_90");
  message.set_name_space("org.example");
  message.set_since_s(5);
  message.set_until_s(6);
  message.add_uids(7);
  message.set_all_users(true);
  message.set_only_wanted(true);
  const auto filter = FromProto(message);
  REQUIRE(filter.ok());
  CHECK(filter->toolchain == "13");
  CHECK(filter->arch == "sm_90");
  CHECK(filter->name_space == "org.example");
  CHECK(filter->since->time_since_epoch().count() == 5);
  CHECK(filter->until->time_since_epoch().count() == 6);
  CHECK(filter->uids == std::vector<uid_t>{7});
  CHECK(filter->all_users);
  CHECK(filter->only_wanted);
}

TEST_CASE("absent fields of a filter do not restrict it") {
  const auto filter = FromProto({});
  REQUIRE(filter.ok());
  CHECK_FALSE(filter->since);
  CHECK_FALSE(filter->until);
  CHECK(filter->uids.empty());
  CHECK_FALSE(filter->all_users);
  CHECK_FALSE(filter->only_wanted);
}

TEST_CASE("a time beyond the range becomes the last valid time") {
  v1::SnapshotFilter message;
  message.set_until_s(UINT64_MAX);
  CHECK(FromProto(message)->until->time_since_epoch().count() == INT64_MAX);
}

TEST_CASE("a text of a filter that is too long or unprintable is refused by name") {
  v1::SnapshotFilter message;
  message.set_arch(std::string(256, 'x'));
  CHECK(Refusal(message) == "arch of the filter: at most 255 printable characters");
  message.clear_arch();
  message.set_name_space("a\nb");
  CHECK(Refusal(message) == "name_space of the filter: at most 255 printable characters");
  message.clear_name_space();
  message.set_toolchain("\x01");
  CHECK(Refusal(message) == "toolchain of the filter: at most 255 printable characters");
}

TEST_CASE("a filter with too many users is refused with the remedy") {
  v1::SnapshotFilter message;
  for (uint32_t uid = 0; uid < 4'096; ++uid) message.add_uids(uid);
  CHECK(Refusal(message) == "taken");
  message.add_uids(4'096);
  CHECK(Refusal(message) ==
        "uids of the filter: 4097, at most 4096 are allowed; all_users names everybody");
}

TEST_CASE("complete keys are added in order, and a partial key is refused") {
  std::vector<cccl_cache::Digest> keys;
  const auto a = cccl_cache::Sha256("a");
  const auto b = cccl_cache::Sha256("b");
  REQUIRE(AddKeys("known_keys", std::string(a.View()) + std::string(b.View()), keys).ok());
  REQUIRE(AddKeys("known_keys", "", keys).ok());
  CHECK(keys == std::vector<cccl_cache::Digest>{a, b});
  const Status part = AddKeys("known_keys", std::string(33, 'x'), keys);
  REQUIRE_FALSE(part.ok());
  CHECK(part.error().message == "known_keys: 32 bytes for each key");
  CHECK(keys.size() == 2);
}

TEST_CASE("more keys than a snapshot can hold are refused") {
  std::vector<cccl_cache::Digest> keys(cccl_cache::kMaxSnapshotRecords - 1);
  CHECK(AddKeys("wanted_keys", std::string(32, 'a'), keys).ok());
  const Status more = AddKeys("wanted_keys", std::string(32, 'b'), keys);
  REQUIRE_FALSE(more.ok());
  CHECK(more.error().message == "wanted_keys: more than the 1048576 that a snapshot can hold");
}

TEST_CASE("every field of a summary is sent") {
  v1::SnapshotSummary message;
  ToProto({.records = 1, .bytes = 2, .left_out = 3, .shared = true, .only_wanted = true}, message);
  CHECK(message.records() == 1);
  CHECK(message.bytes() == 2);
  CHECK(message.left_out() == 3);
  CHECK(message.shared());
  CHECK(message.only_wanted());
}

}  // namespace
}  // namespace cccl_cache::daemon::snapshot_calls_test
