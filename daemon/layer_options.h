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

/// Returns the error with the name of the setting in front of the message.
[[nodiscard]] Error OfSetting(std::string_view setting, Error error);

/// Returns the limits of the memory of jobs, in bytes. These are a quarter of the limits on bytes
/// in flight and do not count towards those. The limit of one user is at least the size of the
/// largest file.
[[nodiscard]] Allowance JobMemoryOf(const ServiceLimits& limits);
/// Returns how much memory running compiles may be expected to need, in bytes; 0: no limit. Without
/// a setting this is `usable`, minus the memory for results and precompiled headers, minus an
/// eighth of `usable` for everything else, but at least a quarter of `usable`.
[[nodiscard]] uint64_t CompileMemoryOf(const Configuration& configuration, uint64_t usable);
/// Returns the directories and files that other users may neither read nor change: the daemon's
/// state, its credentials, the files that the settings name, and the configuration file.
[[nodiscard]] std::vector<std::string> PrivatePlacesOf(const LoadedConfiguration& loaded,
                                                       const Surroundings& surroundings);
/// Returns the private places and the directory that systemd made for the daemon's socket. If the
/// socket is in another directory, that directory may belong to other users and is not included.
[[nodiscard]] std::vector<std::string> OwnPlacesOf(const LoadedConfiguration& loaded,
                                                   const Surroundings& surroundings);
/// Returns the options of the setting `socket`, then those of the sockets for containers.
/// kInvalidRequest: the configured group does not exist.
[[nodiscard]] Result<std::vector<ListenOptions>> ListenOptionsOf(
    const Configuration& configuration);
/// Returns none if no group is configured. kInvalidRequest: the configured group does not exist.
[[nodiscard]] Result<std::optional<gid_t>> AdminGroupOf(const Configuration& configuration);

/// The configured options for sharing entries with other nodes.
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
