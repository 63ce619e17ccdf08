// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/terminal/command.h"

namespace cccl_cache::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DaemonInfo, version, api_minor, fingerprint_layout,
                                                limits, uid, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ToolchainComponent, name, version, path)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Toolchain, id, version, root, components,
                                                selected_by_default, architectures)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RejectedToolchain, root, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(ToolchainList, toolchains, rejected)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Statistic, name, label, value, gauge, help, labels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RemoteTier, address, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(HourlyStatistics, begin_s, statistics)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(DearCompile, program, kind, toolchain, key,
                                                compile_ms, time_ms, uid)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Statistics, statistics, version, remote, hours,
                                                dearest)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Flight, key, kind, toolchain, state, waiters,
                                                age_ms, running_ms, estimate_ms, uid,
                                                of_this_process, program)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(UserQueue, user, queued, running)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Zygote, toolchain, resident_bytes, jobs, user)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Failure, time_ms, kind, uid, key, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(NamespaceUses, name, hits, joined, made, read_bytes,
                                                saved_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Activity, slots, running, queued, waiting, flights,
                                                more_flights, users, zygotes, preambles,
                                                preamble_bytes, failures, compile_memory_bytes,
                                                compile_memory_limit_bytes, waiting_for_memory,
                                                namespaces)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Difference, field, name, was, is, was_lines,
                                                is_lines)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(EarlierBuild, key, outcome, time_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TierLook, tier, finding, reason)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Explanation, verdict, tier, reason, since_ms,
                                                nearest, differences, more_differences, tiers)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Upkeep, entries, bytes, all_entries, all_bytes,
                                                broken, unreadable)

namespace {

/// Parses an answer. Parsing can't fail, because the client library has written the JSON and knows
/// the type of each field.
template <typename Answer>
Answer Read(std::string_view json) {
  return nlohmann::json::parse(json).get<Answer>();
}

template <typename Answer>
Expected<Answer> Ask(Client& client, const char* question,
                     const std::vector<std::string>& arguments, std::chrono::milliseconds timeout,
                     const std::function<void(const Answer&)>& progress = {}) {
  Client::Progress read;
  if (progress) read = [&progress](std::string_view so_far) { progress(Read<Answer>(so_far)); };
  const Expected<std::string> json = client.Query(question, arguments, timeout, read);
  if (!json.ok()) return json.error();
  return Read<Answer>(*json);
}

}  // namespace

double SumOf(const std::vector<Statistic>& statistics, std::string_view name,
             std::string_view tier) {
  double sum = 0;
  for (const Statistic& each : statistics) {
    if (each.name == name && (tier.empty() || each.label == tier)) sum += each.value;
  }
  return sum;
}

bool Statistics::Has(std::string_view name) const {
  return std::ranges::find(statistics, name, &Statistic::name) != statistics.end();
}

Expected<DaemonInfo> AskInfo(Client& client, std::chrono::milliseconds timeout) {
  return Ask<DaemonInfo>(client, "info", {}, timeout);
}

Expected<ToolchainList> AskToolchains(Client& client, uint32_t driver_version,
                                      std::chrono::milliseconds timeout) {
  return Ask<ToolchainList>(client, "toolchains",
                            {"driver_version=" + std::to_string(driver_version)}, timeout);
}

Expected<std::string> AskToolchainsJson(Client& client, uint32_t driver_version) {
  const Expected<std::string> json =
      client.Query("toolchains", {"driver_version=" + std::to_string(driver_version)});
  if (!json.ok()) return json.error();
  // The object begins with the fields of BeginAnswer(), which all --json output has.
  auto answer = nlohmann::ordered_json::parse(BeginAnswer().EndObject().Finish());
  answer.update(nlohmann::ordered_json::parse(*json));
  return answer.dump(2) + "\n";
}

Expected<Statistics> AskStatistics(Client& client, std::chrono::milliseconds timeout,
                                   bool detailed) {
  const std::vector<std::string> arguments(detailed ? 1 : 0, "detailed=true");
  return Ask<Statistics>(client, "stats", arguments, timeout);
}

Expected<Activity> AskActivity(Client& client, std::chrono::milliseconds timeout) {
  return Ask<Activity>(client, "activity", {}, timeout);
}

Expected<Explanation> ExplainKey(Client& client, const std::string& key,
                                 std::chrono::milliseconds timeout) {
  return Ask<Explanation>(client, "explain", {"key=" + key}, timeout);
}

Explanation ReadExplanation(const std::string& json) { return Read<Explanation>(json); }

Expected<Upkeep> AskUpkeep(Client& client, const char* question,
                           const std::vector<std::string>& filter,
                           const std::function<void(const Upkeep&)>& progress) {
  return Ask<Upkeep>(client, question, filter, {}, progress);
}

}  // namespace cccl_cache::cli
