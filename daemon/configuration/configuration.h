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
/// The places in which CUDA is looked for: the usual ones and toolchain_root, or toolchain_root
/// only.
enum class ToolchainSearch : uint8_t { kEverywhere, kRoots };

/// Settings of the Redis or Valkey server that the nodes of a cluster share. A plain value.
struct RemoteSettings {
  std::string url;                 ///< empty: this node shares nothing
  std::string password_file;       ///< empty: none
  std::string ca_file;             ///< for TLS; empty: the system's certificates
  std::string key;                 ///< file with the key that signs entries; empty: this node only
                                   ///< reads
  std::vector<std::string> trust;  ///< files with the keys whose entries are accepted
  std::string prefix = "cccl-cached:";
  std::chrono::milliseconds patience{20};
  uint64_t entry_limit = 8ull << 20;
  std::vector<std::string> deposits;  ///< groups whose deposits are shared
  std::chrono::milliseconds lifetime{std::chrono::hours(24 * 30)};
};

/// The values of all settings. The table in settings.cc has each member's name, format and help.
/// configuration.cc sets the defaults that depend on the user who runs the daemon. A plain value.
struct Configuration {
  std::string socket;     ///< empty: none is known
  std::string state_dir;  ///< empty: none is known
  mode_t socket_mode = 0600;
  std::string socket_group;  ///< empty: the file keeps its group
  std::vector<std::string> container_socket;
  std::string admin_group;  ///< empty: no group
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

  /// Becomes BuildLimits::memory_bytes; none: the result of CompileMemoryOf.
  std::optional<uint64_t> compile_memory_limit;
  BuildLimits builds;
  ServiceLimits clients;
  DepositLimits deposits;
  RemoteSettings remote;
  std::vector<std::string> shelf_path;
};

/// The environment of the process, passed in so that tests can choose it. A plain value.
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

  /// Returns the environment of this process.
  [[nodiscard]] static Surroundings OfThisProcess();
};

/// Returns the defaults: the node's paths for root and the system service, private ones for a user.
/// Directories that systemd made for the service take precedence. A path without a safe default is
/// empty; /tmp is never used.
[[nodiscard]] Configuration DefaultConfiguration(const Surroundings& surroundings);

/// Returns the path of the configuration file that is read if no other is named and it exists; may
/// be empty.
[[nodiscard]] std::string DefaultConfigFile(const Surroundings& surroundings);

}  // namespace cccl_cache::daemon
