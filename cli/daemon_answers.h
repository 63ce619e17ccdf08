// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/client.h"

namespace cccl_cache::cli {

// The daemon's answers about itself. The fields have the names and meanings of the messages in
// proto/cccl_cache/v1.

struct DaemonInfo {
  std::string version;
  uint32_t api_minor = 0;
  uint32_t fingerprint_layout = 0;
  std::map<std::string, uint64_t> limits;
  uint32_t uid = 0;
  std::string problem;
};

struct ToolchainComponent {
  std::string name;
  std::string version;
  std::string path;
};

struct Toolchain {
  std::string id;
  std::string version;
  std::string root;
  std::vector<ToolchainComponent> components;
  bool selected_by_default = false;
  std::vector<std::string> architectures;
};

struct RejectedToolchain {
  std::string root;
  std::string reason;
};

struct ToolchainList {
  std::vector<Toolchain> toolchains;
  std::vector<RejectedToolchain> rejected;
};

struct Statistic {
  std::string name;
  std::string label;
  double value = 0;
  bool gauge = false;
  std::string help;
  std::string labels;
};

struct RemoteTier {
  std::string address;  ///< empty if no Redis server is configured
  std::string problem;
};

/// Returns the sum of the statistic's values over all tiers, or the value of one tier if it is
/// given.
[[nodiscard]] double SumOf(const std::vector<Statistic>& statistics, std::string_view name,
                           std::string_view tier = {});

struct HourlyStatistics {
  uint64_t begin_s = 0;
  std::vector<Statistic> statistics;
};

struct DearCompile {
  std::string program;
  std::string kind;
  std::string toolchain;
  std::string key;
  uint64_t compile_ms = 0;
  uint64_t time_ms = 0;
  uint32_t uid = 0;
};

struct Statistics {
  std::vector<Statistic> statistics;
  std::string version;
  RemoteTier remote;
  std::vector<HourlyStatistics> hours;
  std::vector<DearCompile> dearest;

  [[nodiscard]] double Sum(std::string_view name, std::string_view tier = {}) const {
    return SumOf(statistics, name, tier);
  }
  [[nodiscard]] bool Has(std::string_view name) const;
};

/// The reasons for which entries from Redis are refused. The statistic `remote_REASON_total` counts
/// the entries for each reason.
inline constexpr std::array<std::string_view, 7> kRefusals = {
    "untrusted", "forged", "other_key", "expired", "malformed", "oversized", "corrupt"};

struct Flight {
  std::string key;
  std::string kind;
  std::string toolchain;
  std::string state;
  uint64_t waiters = 0;
  uint64_t age_ms = 0;
  uint64_t running_ms = 0;
  uint64_t estimate_ms = 0;
  uint32_t uid = 0;
  bool of_this_process = false;
  std::string program;
};

struct UserQueue {
  std::string user;
  uint64_t queued = 0;
  uint64_t running = 0;
};

struct Zygote {
  std::string toolchain;
  uint64_t resident_bytes = 0;
  uint64_t jobs = 0;
  std::string user;
};

struct Failure {
  uint64_t time_ms = 0;
  std::string kind;
  uint32_t uid = 0;
  std::string key;
  std::string error;
};

struct NamespaceUses {
  std::string name;
  uint64_t hits = 0;
  uint64_t joined = 0;
  uint64_t made = 0;
  uint64_t read_bytes = 0;
  uint64_t saved_ms = 0;
};

struct Activity {
  uint64_t slots = 0;
  uint64_t running = 0;
  uint64_t queued = 0;
  uint64_t waiting = 0;
  std::vector<Flight> flights;
  uint64_t more_flights = 0;
  std::vector<UserQueue> users;
  std::vector<Zygote> zygotes;
  uint64_t preambles = 0;
  uint64_t preamble_bytes = 0;
  std::vector<Failure> failures;
  uint64_t compile_memory_bytes = 0;
  uint64_t compile_memory_limit_bytes = 0;
  uint64_t waiting_for_memory = 0;
  std::vector<NamespaceUses> namespaces;
};

struct Difference {
  std::string field;
  std::string name;
  std::string was;
  std::string is;
  uint64_t was_lines = 0;
  uint64_t is_lines = 0;
};

struct EarlierBuild {
  std::string key;  ///< empty: there was no earlier build
  std::string outcome;
  uint64_t time_ms = 0;
};

struct TierLook {
  std::string tier;
  std::string finding;
  std::string reason;
};

struct Explanation {
  std::string verdict;
  std::string tier;
  std::string reason;
  uint64_t since_ms = 0;
  EarlierBuild nearest;
  std::vector<Difference> differences;
  uint64_t more_differences = 0;
  std::vector<TierLook> tiers;
};

/// The progress of `evict` or `verify`. Only `verify` sets the last four numbers.
struct Upkeep {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t all_entries = 0;
  uint64_t all_bytes = 0;
  uint64_t broken = 0;
  uint64_t unreadable = 0;
};

[[nodiscard]] Expected<DaemonInfo> AskInfo(Client& client, std::chrono::milliseconds timeout = {});
[[nodiscard]] Expected<ToolchainList> AskToolchains(Client& client, uint32_t driver_version,
                                                    std::chrono::milliseconds timeout = {});
/// Returns the daemon's toolchains as the JSON object that --json prints.
[[nodiscard]] Expected<std::string> AskToolchainsJson(Client& client, uint32_t driver_version);
/// Asks for the daemon's statistics. `detailed` also requests the statistics with `labels`.
[[nodiscard]] Expected<Statistics> AskStatistics(Client& client,
                                                 std::chrono::milliseconds timeout = {},
                                                 bool detailed = false);
[[nodiscard]] Expected<Activity> AskActivity(Client& client, std::chrono::milliseconds timeout);

/// Explains why this user's last build with this key was compiled.
[[nodiscard]] Expected<Explanation> ExplainKey(Client& client, const std::string& key,
                                               std::chrono::milliseconds timeout = {});
/// Parses the JSON that Client::Explain() returned.
[[nodiscard]] Explanation ReadExplanation(const std::string& json);

/// Sends the request "evict" or "verify", for which the user must be an administrator. Calls
/// `progress` with the numbers so far while the daemon works. `filter` has the arguments of
/// "evict", as in cccl_cache_query.
[[nodiscard]] Expected<Upkeep> AskUpkeep(Client& client, const char* question,
                                         const std::vector<std::string>& filter,
                                         const std::function<void(const Upkeep&)>& progress);

}  // namespace cccl_cache::cli
