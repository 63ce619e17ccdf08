// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_answers.h"

#include <nlohmann/json.hpp>

namespace cccl_cache::cli {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Statistic, name, label, value, gauge, help, labels)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RemoteTier, address, problem)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Statistics, statistics, version, remote)

namespace {

/// The client library writes each field of an answer with its type, so reading it can't fail.
template <typename Answer>
Expected<Answer> Ask(Client& client, const char* question,
                     const std::vector<std::string>& arguments, std::chrono::milliseconds timeout) {
  const Expected<std::string> json = client.Query(question, arguments, timeout);
  if (!json.ok()) return json.error();
  return nlohmann::json::parse(*json).get<Answer>();
}

}  // namespace

double Statistics::Sum(std::string_view name, std::string_view tier) const {
  double sum = 0;
  for (const Statistic& each : statistics) {
    if (each.name == name && (tier.empty() || each.label == tier)) sum += each.value;
  }
  return sum;
}

Expected<Statistics> AskStatistics(Client& client, std::chrono::milliseconds timeout) {
  return Ask<Statistics>(client, "stats", {}, timeout);
}

Expected<Statistics> AskDetailedStatistics(Client& client, std::chrono::milliseconds timeout) {
  return Ask<Statistics>(client, "stats", {"detailed=true"}, timeout);
}

}  // namespace cccl_cache::cli
