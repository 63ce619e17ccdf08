// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/configuration/configuration.h"
#include "daemon/configuration/load.h"
#include "daemon/core/model/limits.h"
#include "daemon/core/model/result.h"
#include "daemon/remote/remote_cluster.h"
#include "daemon/remote/shelves.h"
#include "daemon/remote/trust_list.h"
#include "daemon/service/transport/listening_socket.h"
#include "daemon/system/job_memory.h"

/// Translates the configuration into the options of each layer.
namespace cccl_cache::daemon {

/// Puts the name of the setting in front of an error's message.
[[nodiscard]] Error OfSetting(std::string_view setting, Error error);

/// Returns a quarter of the limit on bytes in flight, in addition to that limit, and at least the
/// size of the largest file.
[[nodiscard]] Allowance JobMemoryOf(const ServiceLimits& limits);
/// Returns the memory that running compiles may be expected to need; 0: no limit. Without a setting
/// it is `usable` less the memory for results and precompiled headers and an eighth for everything
/// else, but at least a quarter of `usable`.
[[nodiscard]] uint64_t CompileMemoryOf(const Configuration& configuration, uint64_t usable);
/// Returns the directories and files that other users may neither read nor change: the daemon's
/// state, its credentials, the files that the settings name, and the configuration file.
[[nodiscard]] std::vector<std::string> PrivatePlacesOf(const LoadedConfiguration& loaded,
                                                       const Surroundings& surroundings);
/// Returns the private places and the directory that systemd made for the daemon's socket. Another
/// directory with the socket may belong to others.
[[nodiscard]] std::vector<std::string> OwnPlacesOf(const LoadedConfiguration& loaded,
                                                   const Surroundings& surroundings);
/// Returns `socket`, then the sockets for containers. kInvalidRequest: there is no such group.
[[nodiscard]] Result<std::vector<ListenOptions>> ListenOptionsOf(
    const Configuration& configuration);
/// Returns none if no group is configured. kInvalidRequest: there is no such group.
[[nodiscard]] Result<std::optional<gid_t>> AdminGroupOf(const Configuration& configuration);

/// What nodes share, by the configuration.
struct RemoteSetup {
  std::optional<RemoteCluster::Options> redis;
  std::optional<Shelves::Options> shelves;
  std::shared_ptr<const TrustList> trusted;
  // See Deposits::Options.
  std::map<gid_t, std::string> shared_groups;
  uint64_t shared_bytes = 0;

  [[nodiscard]] bool any() const { return redis || shelves; }
};
/// Reads the files that the configuration names. Errors are those of ParseRedisUrl, LoadSigningKey
/// and TrustList::Load.
[[nodiscard]] Result<RemoteSetup> RemoteSetupOf(const Configuration& configuration);

}  // namespace cccl_cache::daemon
