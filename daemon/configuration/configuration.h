// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/model/limits.h"

namespace cccl_cache::daemon {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };
enum class LogFormat : uint8_t { kText, kJson };
/// Where the daemon searches for CUDA. kEverywhere: in the usual places and in toolchain_root.
/// kRoots: in toolchain_root only.
enum class ToolchainSearch : uint8_t { kEverywhere, kRoots };

/// Settings of the Redis or Valkey server with which the nodes of a cluster share entries. A plain
/// value.
struct RemoteSettings {
  std::string url;                 ///< empty if this node shares no entries
  std::string password_file;       ///< empty if the server needs no password
  std::string ca_file;             ///< trusted certificates for TLS; if empty, those of the system
  std::string key;                 ///< file of the key that signs entries; if empty, this node
                                   ///< writes none
  std::vector<std::string> trust;  ///< files of public keys; entries signed by them are accepted
  std::string prefix = "cccl-cached:";
  std::chrono::milliseconds patience{20};
  uint64_t entry_limit = 8ull << 20;
  uint64_t deposit_limit = 64ull << 20;
  std::vector<std::string> deposits;  ///< names of the groups whose deposits are shared
  std::chrono::milliseconds lifetime{std::chrono::hours(24 * 30)};
};

/// The values of all settings. The table in settings.cc has the name, format and help text of each
/// member. configuration.cc sets the default values that depend on the daemon's user. A plain
/// value.
struct Configuration {
  std::string socket;     ///< empty if there is no safe default
  std::string state_dir;  ///< empty if there is no safe default
  mode_t socket_mode = 0600;
  std::string socket_group;  ///< if empty, the socket keeps its group
  std::vector<std::string> container_socket;
  std::string admin_group;                    ///< if empty, no group has administrators
  std::chrono::milliseconds idle_timeout{0};  ///< 0: never
  std::vector<std::string> toolchain_root;
  ToolchainSearch toolchain_search = ToolchainSearch::kEverywhere;
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;

  uint64_t memory_limit = 256ull << 20;
  uint64_t store_limit = 16ull << 30;
  uint64_t private_limit = 4ull << 30;
  uint64_t private_limit_per_uid = 1ull << 30;
  uint64_t release_limit = 4ull << 30;
  uint64_t release_limit_per_uid = 1ull << 30;

  /// The value of BuildLimits::memory_bytes. If none, CompileMemoryOf() computes that value.
  std::optional<uint64_t> compile_memory_limit;
  BuildLimits builds;
  ServiceLimits clients;
  DepositLimits deposits;
  RemoteSettings remote;
  std::vector<std::string> shelf_path;
};

/// The properties of the process on which defaults depend. Tests can set other ones. A plain value.
struct Surroundings {
  std::map<std::string, std::string, std::less<>> environment;
  uid_t uid = 0;
  uint64_t processors = 1;
  std::string system_config_file = "/etc/cccl-cached/config.toml";

  /// Returns the value of a variable, or an empty string if it is not set.
  [[nodiscard]] std::string Variable(std::string_view name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  }

  /// Returns the properties of this process.
  [[nodiscard]] static Surroundings OfThisProcess();
};

/// Returns the default settings. For root and the system service, the paths are in system
/// directories; for other users, in directories of the user. Directories that systemd has made for
/// the service take precedence. A path without a safe default is empty; /tmp is never used.
[[nodiscard]] Configuration DefaultConfiguration(const Surroundings& surroundings);

/// Returns the path of the configuration file that the daemon reads, if it exists, when no other
/// file is named. May be empty.
[[nodiscard]] std::string DefaultConfigFile(const Surroundings& surroundings);

}  // namespace cccl_cache::daemon
