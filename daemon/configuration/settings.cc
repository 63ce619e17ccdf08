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

template <typename Format, auto... kPath>
Status SetOne(Configuration& configuration, const std::vector<std::string>& texts) {
  auto value = Format::Parse(texts.front());
  if (!value) return value.error();
  (configuration.*....*kPath) = *std::move(value);
  return Ok{};
}

template <typename Format, auto... kPath>
std::string ShowOne(const Configuration& configuration) {
  const std::string text = Format::Show((configuration.*....*kPath));
  return Format::kBare ? text : Quoted(text);
}

template <typename Format, auto... kPath>
Status SetList(Configuration& configuration, const std::vector<std::string>& texts) {
  (configuration.*....*kPath).clear();
  for (const std::string& text : texts) {
    auto value = Format::Parse(text);
    if (!value) return value.error();
    (configuration.*....*kPath).push_back(*std::move(value));
  }
  return Ok{};
}

template <typename Format, auto... kPath>
std::string ShowList(const Configuration& configuration) {
  std::string shown;
  for (const auto& value : (configuration.*....*kPath)) {
    shown += (shown.empty() ? "" : ", ") + Quoted(Format::Show(value));
  }
  return "[" + shown + "]";
}

template <typename Format, auto... kPath>
constexpr Setting One(std::string_view name, std::string_view help) {
  return Setting{.name = name,
                 .placeholder = Format::kPlaceholder,
                 .help = help,
                 .list = false,
                 .path = std::is_base_of_v<PathFormat, Format>,
                 .bare = Format::kBare,
                 .set = &SetOne<Format, kPath...>,
                 .show = &ShowOne<Format, kPath...>};
}

template <typename Format, auto... kPath>
constexpr Setting List(std::string_view name, std::string_view help) {
  return Setting{.name = name,
                 .placeholder = Format::kPlaceholder,
                 .help = help,
                 .list = true,
                 .path = std::is_base_of_v<PathFormat, Format>,
                 .bare = Format::kBare,
                 .set = &SetList<Format, kPath...>,
                 .show = &ShowList<Format, kPath...>};
}

// The template arguments of a row are the format and the members that lead from a Configuration to
// the value.
using C = Configuration;
constexpr std::array kSettings = {
    One<PathFormat, &C::socket>("socket", "path of the socket that clients connect to"),
    One<ModeFormat, &C::socket_mode>(
        "socket_mode", "permissions of the socket: users who can write it may connect"),
    One<GroupFormat, &C::socket_group>("socket_group", "group of the socket"),
    List<PathFormat, &C::container_socket>(
        "container_socket",
        "additional socket for containers; its callers are never administrators"),
    One<GroupFormat, &C::admin_group>("admin_group",
                                      "group whose members are administrators, like root"),
    One<DurationOrZeroFormat, &C::idle_timeout>(
        "idle_timeout", "stop after this time without connections and compiles; 0: never"),
    One<PathFormat, &C::state_dir>("state_dir", "directory of the store"),
    List<PathFormat, &C::toolchain_root>("toolchain_root",
                                         "additional directory to search for CUDA"),
    One<ToolchainSearchFormat, &C::toolchain_search>(
        "toolchain_search", "everywhere, or roots: only the directories in toolchain_root"),
    One<LogLevelFormat, &C::log_level>("log_level", "error, warning, info or debug"),
    One<LogFormatFormat, &C::log_format>("log_format", "text or json"),
    One<ThreadCountFormat, &C::builds, &BuildLimits::slots>(
        "jobs", "maximum number of concurrent compiles"),
    One<SizeFormat, &C::memory_limit>("memory_limit", "size of the cache in memory"),
    One<SizeFormat, &C::store_limit>("store_limit", "size of the cache on disk"),
    One<SizeFormat, &C::private_limit>("private_limit",
                                       "disk space for entries that users inserted for themselves"),
    One<SizeFormat, &C::private_limit_per_uid>("private_limit_per_uid",
                                               "the same limit for one user"),
    One<SizeOrZeroFormat, &C::release_limit>(
        "release_limit", "disk space for NVIDIA's releases that users added; 0: none are taken"),
    One<SizeFormat, &C::release_limit_per_uid>("release_limit_per_uid",
                                               "the same limit for one user"),
    One<DurationFormat, &C::builds, &BuildLimits::compile, &CompileLimits::time>(
        "build_timeout", "time limit of one compile"),
    One<CompileMemoryFormat, &C::builds, &BuildLimits::compile, &CompileLimits::memory_bytes>(
        "worker_memory_limit", "memory limit of one compile"),
    One<SizeOrAutoFormat, &C::compile_memory_limit>(
        "compile_memory_limit",
        "expected memory of running compiles and of clients' steps of nvcc, above which others "
        "wait; 0: no limit"),
    One<SizeOrZeroFormat, &C::builds, &BuildLimits::preamble_bytes>(
        "pch_memory_limit", "memory for precompiled headers; 0: off"),
    One<DurationFormat, &C::builds, &BuildLimits::remember_failures>(
        "remember_failures", "how long a compile error is returned without another attempt"),
    One<FrequencyFormat, &C::builds, &BuildLimits::shadow_check_every>(
        "shadow_check_every", "verify 1 in N hits by compiling it again; 0: off"),
    One<CountFormat, &C::builds, &BuildLimits::queued>(
        "queue_limit", "maximum number of builds that wait for a slot or for memory"),
    One<CountFormat, &C::builds, &BuildLimits::queued_per_uid>("queue_limit_per_uid",
                                                               "the same limit for one user"),
    One<CountFormat, &C::clients, &ServiceLimits::calls>("call_limit",
                                                         "maximum number of calls in progress"),
    One<CountFormat, &C::clients, &ServiceLimits::calls_per_uid>("call_limit_per_uid",
                                                                 "the same limit for one user"),
    One<CountFormat, &C::clients, &ServiceLimits::connections>(
        "connection_limit", "maximum number of open connections"),
    One<CountFormat, &C::clients, &ServiceLimits::connections_per_uid>(
        "connection_limit_per_uid", "the same limit for one user"),
    One<MessageSizeFormat, &C::clients, &ServiceLimits::message_bytes>(
        "message_limit", "maximum size of one message"),
    One<SizeFormat, &C::clients, &ServiceLimits::source_bytes>(
        "source_limit", "maximum size of all sources and binaries of one build"),
    One<SizeFormat, &C::clients, &ServiceLimits::header_set_bytes>(
        "header_set_limit", "maximum size of one set of inline headers that is sent once"),
    One<CountFormat, &C::clients, &ServiceLimits::headers>(
        "header_limit", "maximum number of inline headers of one build"),
    One<SizeFormat, &C::deposits, &DepositLimits::bytes>("deposit_limit",
                                                         "disk space for deposits"),
    One<SizeFormat, &C::deposits, &DepositLimits::bytes_per_uid>("deposit_limit_per_uid",
                                                                 "the same limit for one user"),
    One<DurationFormat, &C::deposits, &DepositLimits::heartbeat>(
        "lease_heartbeat", "interval of the heartbeats of a lease's holder"),
    One<DurationFormat, &C::deposits, &DepositLimits::longest_lease>(
        "lease_limit", "maximum time that a lease can block other callers"),
    One<SizeFormat, &C::clients, &ServiceLimits::upload_bytes>("upload_limit",
                                                               "maximum size of all uploads"),
    One<SizeFormat, &C::clients, &ServiceLimits::upload_bytes_per_uid>(
        "upload_limit_per_uid", "the same limit for one user"),
    One<SizeFormat, &C::clients, &ServiceLimits::bytes_in_flight>(
        "in_flight_limit", "maximum size of requests and replies in progress"),
    One<SizeFormat, &C::clients, &ServiceLimits::bytes_in_flight_per_uid>(
        "in_flight_limit_per_uid", "the same limit for one user"),
    One<UrlFormat, &C::remote, &RemoteSettings::url>(
        "remote_url", "Redis or Valkey that the nodes share: rediss://HOST, unix:///PATH"),
    One<OptionalPathFormat, &C::remote, &RemoteSettings::password_file>(
        "remote_password_file", "file with the password for Redis"),
    One<OptionalPathFormat, &C::remote, &RemoteSettings::ca_file>(
        "remote_ca_file", "certificates that Redis is verified with; none: those of the system"),
    One<OptionalPathFormat, &C::remote, &RemoteSettings::key>(
        "remote_key", "key that signs what this node shares; none: it only reads"),
    List<PathFormat, &C::remote, &RemoteSettings::trust>(
        "remote_trust", "file with the public keys whose entries are taken"),
    One<TextFormat, &C::remote, &RemoteSettings::prefix>("remote_prefix",
                                                         "what all keys in Redis begin with"),
    One<DurationFormat, &C::remote, &RemoteSettings::patience>(
        "remote_patience", "a compile waits for Redis at most this long, for a shelf ten times"),
    One<SharedSizeFormat, &C::remote, &RemoteSettings::entry_limit>(
        "remote_entry_limit", "largest entry that is shared, uncompressed"),
    One<SizeFormat, &C::remote, &RemoteSettings::deposit_limit>(
        "remote_deposit_limit", "largest deposit that is shared, uncompressed"),
    List<GroupFormat, &C::remote, &RemoteSettings::deposits>(
        "remote_deposits", "group whose deposits are shared, by its name on all nodes"),
    One<DurationFormat, &C::remote, &RemoteSettings::lifetime>(
        "remote_lifetime", "how long an entry is taken after it was signed"),
    List<PathFormat, &C::shelf_path>("shelf_path",
                                     "directory of signed snapshots, of which builds are answered"),
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
