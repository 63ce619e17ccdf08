// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/layer_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "base/group.h"

namespace cccl_cache::daemon {
namespace {

constexpr uint64_t kMaxFile = 64ull << 20;  // limit of a requester's file, in bytes

/// Returns none if the setting is empty.
Result<std::optional<gid_t>> FindGroup(std::string_view setting, const std::string& name) {
  if (name.empty()) return std::optional<gid_t>();
  if (const std::optional<gid_t> found = GroupNamed(name)) return found;
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("{}: this machine has no group \"{}\": make it with groupadd, or name "
                           "another one",
                           setting, name)};
}

Result<std::optional<RemoteCluster::Options>> RedisOf(const Configuration& configuration) {
  const RemoteSettings& settings = configuration.remote;
  if (settings.url.empty()) return std::optional<RemoteCluster::Options>();
  RemoteCluster::Options options;
  Result<std::vector<RedisAddress>> addresses = ParseRedisUrls(settings.url);
  if (!addresses) return OfSetting("remote_url", addresses.error());
  options.link.address = addresses->front();
  options.more_servers.assign(addresses->begin() + 1, addresses->end());
  if (!settings.password_file.empty()) {
    Result<std::string> password = LoadPassword(settings.password_file);
    if (!password) return OfSetting("remote_password_file", password.error());
    options.link.password = *std::move(password);
  }
  if (!settings.key.empty()) {
    Result<SigningKey> key = LoadSigningKey(settings.key);
    if (!key) return OfSetting("remote_key", key.error());
    options.key = *std::move(key);
  }
  options.link.ca_file = settings.ca_file;
  // The limit is that of an entry, plus a margin for Redis's protocol.
  options.link.max_reply_bytes = std::max(settings.entry_limit, kMaxStoredChunk) + (1 << 20);
  options.prefix = settings.prefix;
  options.link.patience = settings.patience;
  options.entry_limit = settings.entry_limit;
  options.deposit_limit = settings.deposit_limit;
  // One user may fill half of the outbox, and one deposit must fit.
  options.outbox_limit = std::max(options.outbox_limit, 2 * settings.deposit_limit);
  options.lifetime = std::max(std::chrono::seconds(1),
                              std::chrono::floor<std::chrono::seconds>(settings.lifetime));
  options.max_leases = 2 * configuration.builds.slots;
  return std::optional(std::move(options));
}

}  // namespace

Error OfSetting(std::string_view setting, Error error) {
  error.message = fmt::format("{}: {}", setting, error.message);
  return error;
}

Allowance JobMemoryOf(const ServiceLimits& limits) {
  const uint64_t per_uid = std::max(kMaxFile, limits.bytes_in_flight_per_uid / 4);
  return {.per_account = per_uid, .in_all = std::max(2 * per_uid, limits.bytes_in_flight / 4)};
}

uint64_t CompileMemoryOf(const Configuration& configuration, uint64_t usable) {
  if (configuration.compile_memory_limit) return *configuration.compile_memory_limit;
  const uint64_t others =
      configuration.memory_limit + configuration.builds.preamble_bytes + usable / 8;
  return std::max(usable / 4, usable - std::min(usable, others));
}

std::vector<std::string> PrivatePlacesOf(const LoadedConfiguration& loaded,
                                         const Surroundings& surroundings) {
  const RemoteSettings& remote = loaded.values.remote;
  std::vector<std::string> places = {loaded.values.state_dir, loaded.file, remote.key,
                                     remote.password_file,
                                     surroundings.Variable("CREDENTIALS_DIRECTORY")};
  places.insert(places.end(), remote.trust.begin(), remote.trust.end());
  std::erase(places, "");
  return places;
}

std::vector<std::string> OwnPlacesOf(const LoadedConfiguration& loaded,
                                     const Surroundings& surroundings) {
  std::vector<std::string> places = PrivatePlacesOf(loaded, surroundings);
  std::istringstream made(surroundings.Variable("RUNTIME_DIRECTORY"));
  for (std::string each; std::getline(made, each, ':');) places.push_back(each);
  std::erase(places, "");
  return places;
}

Result<std::vector<ListenOptions>> ListenOptionsOf(const Configuration& configuration) {
  const auto group = FindGroup("socket_group", configuration.socket_group);
  if (!group) return group.error();
  std::vector<ListenOptions> all = {
      {.path = configuration.socket, .mode = configuration.socket_mode, .group = *group}};
  for (const std::string& path : configuration.container_socket) {
    all.push_back(
        {.path = path, .mode = configuration.socket_mode, .group = *group, .for_containers = true});
  }
  return all;
}

Result<std::optional<gid_t>> AdminGroupOf(const Configuration& configuration) {
  return FindGroup("admin_group", configuration.admin_group);
}

Result<RemoteSetup> RemoteSetupOf(const Configuration& configuration) {
  const RemoteSettings& settings = configuration.remote;
  RemoteSetup setup;
  Result<std::optional<RemoteCluster::Options>> redis = RedisOf(configuration);
  if (!redis) return redis.error();
  setup.redis = *std::move(redis);
  // If Redis is not configured, the names of the groups are not looked up.
  for (const std::string& name : setup.redis ? settings.deposits : std::vector<std::string>()) {
    const auto group = FindGroup("remote_deposits", name);
    if (!group) return group.error();
    if (!*group) continue;
    const auto [other, added] = setup.shared_groups.emplace(**group, name);
    if (!added && other->second != name) {
      return Error{
          ErrorCode::kInvalidRequest,
          fmt::format("remote_deposits: \"{}\" and \"{}\" are one group here: name it once, "
                      "as on all nodes",
                      other->second, name)};
    }
  }
  setup.shared_bytes = settings.deposit_limit;
  if (!configuration.shelf_path.empty()) {
    setup.shelves = {.directories = configuration.shelf_path,
                     .patience = settings.patience,
                     .entry_limit = settings.entry_limit,
                     .report = {}};
  }
  if (!setup.any()) return setup;
  Result<std::shared_ptr<const TrustList>> trusted = TrustList::Load(settings.trust);
  if (!trusted) return OfSetting("remote_trust", trusted.error());
  setup.trusted = *std::move(trusted);
  return setup;
}

}  // namespace cccl_cache::daemon
