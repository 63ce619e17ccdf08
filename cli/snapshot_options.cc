// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/snapshot_options.h"

#include <charconv>
#include <ctime>

namespace cccl_cache::cli {
namespace {

std::optional<std::chrono::sys_seconds> ParseDate(const std::string& text, const char* format) {
  std::tm date = {};
  const char* end = strptime(text.c_str(), format, &date);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&date)));
}

std::optional<std::chrono::seconds> UnitOf(std::string_view unit) {
  if (unit == "s") return std::chrono::seconds(1);
  if (unit == "m") return std::chrono::minutes(1);
  if (unit == "h") return std::chrono::hours(1);
  if (unit == "d") return std::chrono::days(1);
  return std::nullopt;
}

void AddMoment(CLI::App* command, const std::string& name, std::string* text,
               std::optional<std::chrono::sys_seconds>* moment, const std::string& help) {
  command->add_option(name, *text, help)
      ->type_name("TIME")
      ->check([moment](const std::string& given) -> std::string {
        *moment = ParseMoment(
            given, std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
        if (*moment) return "";
        return "\"" + given +
               "\" is no time: give 2026-05-04, 2026-05-04T10:12:31 (UTC), seconds since 1970, or "
               "how long ago: 30m, 12h, 7d";
      });
}

}  // namespace

bool SnapshotOptions::Narrows() const {
  return !filter.toolchain.empty() || !filter.arch.empty() || filter.since || filter.until ||
         !filter.name_space.empty() || !filter.uids.empty();
}

std::optional<std::chrono::sys_seconds> ParseMoment(const std::string& text,
                                                    std::chrono::sys_seconds now) {
  for (const char* format : {"%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"}) {
    if (const auto date = ParseDate(text, format)) return date;
  }
  constexpr int64_t kMost = 1'000'000'000'000;
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number <= 0 || number > kMost) return std::nullopt;
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  if (rest.empty()) return std::chrono::sys_seconds(std::chrono::seconds(number));
  const auto unit = UnitOf(rest);
  if (!unit) return std::nullopt;
  return now - number * *unit;
}

void AddFileArgument(CLI::App* command, SnapshotOptions* options, const std::string& help) {
  command->add_option("FILE", options->file, help)->required();
}

void AddFilterOptions(CLI::App* command, SnapshotOptions* options) {
  SnapshotFilter& filter = options->filter;
  command->add_option("--toolchain", filter.toolchain,
                      "Made by this one alone: a major (13), a version (12.9), an id");
  command->add_option("--arch", filter.arch, "For this architecture alone: sm_90");
  AddMoment(command, "--after", &options->after, &filter.since,
            "Last answered then or later: 2026-05-04, or 7d for the last seven days");
  AddMoment(command, "--before", &options->before, &filter.until, "Last answered before");
  command->add_option("--namespace", filter.name_space, "Deposits of this namespace alone");
  command->add_option("--uid", filter.uids,
                      "What this user was answered (root and the daemon's user may ask)");
  command->add_flag("--all-users", filter.all_users, "What anybody was answered (the same)");
}

}  // namespace cccl_cache::cli
