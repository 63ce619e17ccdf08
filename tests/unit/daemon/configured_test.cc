// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/layer_options.h"

namespace cccl_cache::daemon {
namespace {

/// A configuration in which no two numbers are equal.
Configuration Distinct() {
  Configuration configuration;
  uint64_t next = 1'000;
  for (uint64_t Configuration::*member :
       {&Configuration::jobs, &Configuration::worker_memory_limit, &Configuration::pch_memory_limit,
        &Configuration::shadow_check_every, &Configuration::queue_limit,
        &Configuration::queue_limit_per_uid, &Configuration::call_limit,
        &Configuration::call_limit_per_uid, &Configuration::connection_limit,
        &Configuration::connection_limit_per_uid, &Configuration::message_limit,
        &Configuration::source_limit, &Configuration::header_limit, &Configuration::deposit_limit,
        &Configuration::deposit_limit_per_uid, &Configuration::upload_limit,
        &Configuration::upload_limit_per_uid, &Configuration::in_flight_limit,
        &Configuration::in_flight_limit_per_uid}) {
    configuration.*member = ++next;
  }
  configuration.build_timeout = std::chrono::milliseconds(++next);
  configuration.lease_heartbeat = std::chrono::milliseconds(++next);
  configuration.lease_limit = std::chrono::milliseconds(++next);
  return configuration;
}

TEST_CASE("what bounds builds reaches those who compile") {
  Configuration configuration = Distinct();
  configuration.remember_failures = std::chrono::milliseconds(1'001);
  const BuildLimits limits = BuildLimitsOf(configuration);
  CHECK(limits.compile.time == configuration.build_timeout);
  CHECK(limits.compile.memory_bytes == configuration.worker_memory_limit);
  CHECK(limits.preamble_bytes == configuration.pch_memory_limit);
  CHECK(limits.slots == configuration.jobs);
  CHECK(limits.queued == configuration.queue_limit);
  CHECK(limits.queued_per_uid == configuration.queue_limit_per_uid);
  CHECK(limits.shadow_check_every == configuration.shadow_check_every);
  // Up: for at least as long as was said.
  CHECK(limits.remember_failures == std::chrono::seconds(2));
}

TEST_CASE("what bounds clients reaches the service, of each user and of all") {
  const Configuration configuration = Distinct();
  const ServiceLimits limits = ServiceLimitsOf(configuration);
  CHECK(limits.message_bytes == configuration.message_limit);
  CHECK(limits.source_bytes == configuration.source_limit);
  CHECK(limits.headers == configuration.header_limit);
  CHECK(limits.upload_bytes == configuration.upload_limit);
  CHECK(limits.upload_bytes_per_uid == configuration.upload_limit_per_uid);
  CHECK(limits.connections == configuration.connection_limit);
  CHECK(limits.connections_per_uid == configuration.connection_limit_per_uid);
  CHECK(limits.calls == configuration.call_limit);
  CHECK(limits.calls_per_uid == configuration.call_limit_per_uid);
  CHECK(limits.bytes_in_flight == configuration.in_flight_limit);
  CHECK(limits.bytes_in_flight_per_uid == configuration.in_flight_limit_per_uid);
}

TEST_CASE("what bounds deposits and leases reaches those who keep them") {
  const Configuration configuration = Distinct();
  const Deposits::Options options = DepositOptionsOf(configuration, uint64_t{7});
  CHECK(options.run.value() == 7);
  CHECK(options.limits.bytes == configuration.deposit_limit);
  CHECK(options.limits.bytes_per_uid == configuration.deposit_limit_per_uid);
  CHECK(options.heartbeat == configuration.lease_heartbeat);
  CHECK(options.longest_lease == configuration.lease_limit);
}

TEST_CASE("the state and what systemd made for the socket are the daemon's own") {
  Configuration configuration;
  configuration.state_dir = "/state";
  configuration.socket = "/run/elsewhere/socket";
  Surroundings surroundings;
  CHECK(OwnDirectoriesOf(configuration, surroundings) == std::vector<std::string>{"/state"});
  surroundings.environment["RUNTIME_DIRECTORY"] = "/run/a:/run/b";
  CHECK(OwnDirectoriesOf(configuration, surroundings) ==
        std::vector<std::string>{"/state", "/run/a", "/run/b"});
}

TEST_CASE("the socket's group is found by its name, and one that is not there is refused") {
  Configuration configuration;
  configuration.socket = "/run/s";
  configuration.socket_mode = 0660;
  CHECK(ListenOptionsOf(configuration)->front().path == "/run/s");
  CHECK(ListenOptionsOf(configuration)->front().mode == 0660);
  CHECK_FALSE(ListenOptionsOf(configuration)->front().group);
  configuration.socket_group = "root";
  CHECK(ListenOptionsOf(configuration)->front().group == 0u);
  configuration.socket_group = "no such group";
  const auto refused = ListenOptionsOf(configuration);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidRequest);
  CHECK(refused.error().message ==
        "socket_group: this machine has no group \"no such group\": make it with groupadd, or "
        "name another one");
}

TEST_CASE("sockets for containers are like the first one, but for administrators") {
  Configuration configuration;
  configuration.socket = "/run/s";
  configuration.socket_mode = 0666;
  configuration.socket_group = "root";
  configuration.container_socket = {"/run/a/s", "/run/b/s"};
  const auto all = ListenOptionsOf(configuration);
  REQUIRE(all->size() == 3);
  CHECK(all->at(0).for_administrators);
  for (const size_t i : {1, 2}) {
    CHECK(all->at(i).path == configuration.container_socket[i - 1]);
    CHECK(all->at(i).mode == 0666);
    CHECK(all->at(i).group == 0u);
    CHECK_FALSE(all->at(i).for_administrators);
  }
}

TEST_CASE(
    "the group of administrators is found by its name, and one that is not there is refused") {
  Configuration configuration;
  CHECK(AdminGroupOf(configuration).value() == std::nullopt);
  configuration.admin_group = "root";
  CHECK(AdminGroupOf(configuration).value() == 0u);
  configuration.admin_group = "no such group";
  CHECK(AdminGroupOf(configuration).error().code == ErrorCode::kInvalidRequest);
}

}  // namespace
}  // namespace cccl_cache::daemon
