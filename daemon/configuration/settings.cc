// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <type_traits>

#include "daemon/configuration/value_format.h"

namespace cccl_cache::daemon {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

template <auto kMember, typename Format>
Status SetOne(Configuration& configuration, const std::vector<std::string>& texts) {
  auto value = Format::Parse(texts.front());
  if (!value) return value.error();
  configuration.*kMember = *std::move(value);
  return Ok{};
}

template <auto kMember, typename Format>
std::string ShowOne(const Configuration& configuration) {
  const std::string text = Format::Show(configuration.*kMember);
  return Format::kBare ? text : Quoted(text);
}

template <auto kMember, typename Format>
Status SetList(Configuration& configuration, const std::vector<std::string>& texts) {
  (configuration.*kMember).clear();
  for (const std::string& text : texts) {
    auto value = Format::Parse(text);
    if (!value) return value.error();
    (configuration.*kMember).push_back(*std::move(value));
  }
  return Ok{};
}

template <auto kMember, typename Format>
std::string ShowList(const Configuration& configuration) {
  std::string shown;
  for (const auto& value : configuration.*kMember) {
    shown += (shown.empty() ? "" : ", ") + Quoted(Format::Show(value));
  }
  return "[" + shown + "]";
}

template <auto kMember, typename Format>
constexpr Setting One(std::string_view name, std::string_view help) {
  return Setting{.name = name,
                 .placeholder = Format::kPlaceholder,
                 .help = help,
                 .list = false,
                 .path = std::is_same_v<Format, PathFormat>,
                 .bare = Format::kBare,
                 .set = &SetOne<kMember, Format>,
                 .show = &ShowOne<kMember, Format>};
}

template <auto kMember, typename Format>
constexpr Setting List(std::string_view name, std::string_view help) {
  return Setting{.name = name,
                 .placeholder = Format::kPlaceholder,
                 .help = help,
                 .list = true,
                 .path = std::is_same_v<Format, PathFormat>,
                 .bare = Format::kBare,
                 .set = &SetList<kMember, Format>,
                 .show = &ShowList<kMember, Format>};
}

using C = Configuration;
constexpr std::array kSettings = {
    One<&C::socket, PathFormat>("socket", "path of the socket that clients connect to"),
    One<&C::socket_mode, ModeFormat>(
        "socket_mode", "permissions of the socket: users who can write it may connect"),
    One<&C::socket_group, GroupFormat>("socket_group", "group of the socket"),
    List<&C::container_socket, PathFormat>(
        "container_socket",
        "additional socket for containers; its callers are never administrators"),
    One<&C::admin_group, GroupFormat>("admin_group",
                                      "group whose members are administrators, like root"),
    One<&C::state_dir, PathFormat>("state_dir", "directory of the store"),
    List<&C::toolchain_root, PathFormat>("toolchain_root",
                                         "additional directory to search for CUDA"),
    One<&C::toolchain_search, ToolchainSearchFormat>(
        "toolchain_search", "everywhere, or roots: only the directories in toolchain_root"),
    One<&C::log_level, LogLevelFormat>("log_level", "error, warning, info or debug"),
    One<&C::log_format, LogFormatFormat>("log_format", "text or json"),
    One<&C::jobs, ThreadCountFormat>("jobs", "maximum number of concurrent compiles"),
    One<&C::memory_limit, SizeFormat>("memory_limit", "size of the cache in memory"),
    One<&C::store_limit, SizeFormat>("store_limit", "size of the cache on disk"),
    One<&C::private_limit, SizeFormat>("private_limit",
                                       "disk space for entries that users inserted for themselves"),
    One<&C::private_limit_per_uid, SizeFormat>("private_limit_per_uid",
                                               "the same limit for one user"),
    One<&C::build_timeout, DurationFormat>("build_timeout", "time limit of one compile"),
    One<&C::worker_memory_limit, CompileMemoryFormat>("worker_memory_limit",
                                                      "memory limit of one compile"),
    One<&C::pch_memory_limit, SizeOrZeroFormat>("pch_memory_limit",
                                                "memory for precompiled headers; 0: off"),
    One<&C::remember_failures, DurationFormat>(
        "remember_failures", "how long a compile error is returned without another attempt"),
    One<&C::shadow_check_every, FrequencyFormat>(
        "shadow_check_every", "verify 1 in N hits by compiling it again; 0: off"),
    One<&C::queue_limit, CountFormat>("queue_limit",
                                      "maximum number of builds that wait for a slot"),
    One<&C::queue_limit_per_uid, CountFormat>("queue_limit_per_uid", "the same limit for one user"),
    One<&C::call_limit, CountFormat>("call_limit", "maximum number of calls in progress"),
    One<&C::call_limit_per_uid, CountFormat>("call_limit_per_uid", "the same limit for one user"),
    One<&C::connection_limit, CountFormat>("connection_limit",
                                           "maximum number of open connections"),
    One<&C::connection_limit_per_uid, CountFormat>("connection_limit_per_uid",
                                                   "the same limit for one user"),
    One<&C::message_limit, MessageSizeFormat>("message_limit", "maximum size of one message"),
    One<&C::source_limit, SizeFormat>("source_limit",
                                      "maximum size of all sources and binaries of one build"),
    One<&C::header_limit, CountFormat>("header_limit",
                                       "maximum number of inline headers of one build"),
    One<&C::deposit_limit, SizeFormat>("deposit_limit", "disk space for deposits"),
    One<&C::deposit_limit_per_uid, SizeFormat>("deposit_limit_per_uid",
                                               "the same limit for one user"),
    One<&C::lease_heartbeat, DurationFormat>("lease_heartbeat",
                                             "interval of the heartbeats of a lease's holder"),
    One<&C::lease_limit, DurationFormat>("lease_limit",
                                         "maximum time that a lease can block other callers"),
    One<&C::upload_limit, SizeFormat>("upload_limit", "maximum size of all uploads"),
    One<&C::upload_limit_per_uid, SizeFormat>("upload_limit_per_uid",
                                              "the same limit for one user"),
    One<&C::in_flight_limit, SizeFormat>("in_flight_limit",
                                         "maximum size of requests and replies in progress"),
    One<&C::in_flight_limit_per_uid, SizeFormat>("in_flight_limit_per_uid",
                                                 "the same limit for one user"),
};

}  // namespace

std::string Setting::Flag() const {
  std::string flag = fmt::format("--{}", name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string Setting::Variable() const {
  std::string variable = fmt::format("CCCL_CACHED_{}", name);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view name) {
  const auto found = std::find_if(kSettings.begin(), kSettings.end(),
                                  [name](const Setting& setting) { return setting.name == name; });
  return found == kSettings.end() ? nullptr : &*found;
}

}  // namespace cccl_cache::daemon
