// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "daemon/layer_options.h"
#include "daemon/process/log.h"
#include "daemon/process/worker_path.h"
#include "daemon/version.h"

namespace cccl_cache::daemon {
namespace {

std::string ReleasesDirectory(const Configuration& configuration) {
  return configuration.state_dir + "/releases";
}

constexpr std::chrono::seconds kDrainDeadline{10};
constexpr std::chrono::seconds kShutdownDeadline{2};

auto ReportTo(Log& log, std::string_view event) {
  return [&log, event](std::string_view text) { log.Write(LogLevel::kWarning, event, text); };
}

ZygoteOptions ZygotesOf(Log& log) {
  ZygoteOptions options;
  options.announce_sandbox = [&log](const ZygoteReady& ready) {
    const bool none = ready.sandbox == SandboxKind::kNone;
    log.Write(none ? LogLevel::kWarning : LogLevel::kInfo, "sandbox", ready.description);
  };
  return options;
}

RegistryOptions ToolchainsOf(const Configuration& configuration, const std::string& worker) {
  const bool only_roots = configuration.toolchain_search == ToolchainSearch::kRoots;
  RegistryOptions options;
  options.places = only_roots ? GivenSearchPlaces(configuration.toolchain_root)
                              : SystemSearchPlaces(configuration.toolchain_root);
  if (!only_roots) options.places.packages = {PackagesAround(worker)};
  if (configuration.release_limit > 0) options.places.added = ReleasesDirectory(configuration);
  options.own_uid = geteuid();
  return options;
}

std::chrono::milliseconds TickOf(std::optional<std::chrono::microseconds> watchdog,
                                 std::chrono::milliseconds idle_timeout) {
  std::chrono::milliseconds tick = ServerOptions{}.tick;
  if (idle_timeout.count() > 0) tick = std::min(tick, idle_timeout);
  // systemd recommends two messages per watchdog timeout. A tick may be late by one tick, so there
  // are four ticks per timeout.
  if (watchdog) tick = std::min(tick, std::chrono::ceil<std::chrono::milliseconds>(*watchdog / 4));
  return tick;
}

std::unique_ptr<RemoteCluster> RedisOf(RemoteSetup& setup, Statistics& statistics, Log& log) {
  if (!setup.redis) return nullptr;
  setup.redis->link.report = ReportTo(log, "remote");
  setup.redis->link.report_return = [&log](std::string_view text) {
    log.Write(LogLevel::kInfo, "remote", text);
  };
  return std::make_unique<RemoteCluster>(*std::move(setup.redis), setup.trusted, statistics);
}

std::unique_ptr<Shelves> ShelvesOf(RemoteSetup& setup, Statistics& statistics, Cluster* others,
                                   Log& log) {
  if (!setup.shelves) return nullptr;
  setup.shelves->report = ReportTo(log, "shelf");
  return std::make_unique<Shelves>(*std::move(setup.shelves), setup.trusted, statistics, others);
}

/// Returns the cluster that is asked for entries that no tier has. Null if there is none.
Cluster* FirstOf(Shelves* shelves, RemoteCluster* redis) {
  return shelves != nullptr ? static_cast<Cluster*>(shelves) : redis;
}

std::function<void()> AliveOf(const Daemon::Parts& parts, const BuildCoordinator& coordinator) {
  if (!parts.watchdog) return [] {};
  return [alive = parts.alive, &coordinator] {
    // Gauges() takes the lock that all builds need. If a thread hangs with that lock, this call
    // hangs too, and the watchdog restarts the daemon.
    (void)coordinator.Gauges();
    alive();
  };
}

}  // namespace

Result<std::unique_ptr<Stores>> Stores::Open(const Configuration& configuration,
                                             FindAccount find_account, Log& log) {
  std::unique_ptr<Stores> stores(new Stores(configuration.memory_limit));
  RocksdbStoreOptions options;
  options.directory = configuration.state_dir;
  options.limit_bytes = configuration.store_limit;
  options.private_limits.per_user = configuration.private_limit_per_uid;
  options.private_limits.in_all = configuration.private_limit;
  options.private_limits.find_account = std::move(find_account);
  options.memory = &stores->memory;
  options.report = [&log](std::string_view text) { log.Write(LogLevel::kWarning, "store", text); };
  options.used_elsewhere = [&memory = stores->memory](const Digest& key) {
    return memory.Holds(key);
  };
  options.on_evict = [&eviction_log = stores->eviction_log,
                      damaged = std::make_shared<LimitedLog>(log, "store")](const Digest& key,
                                                                            EvictionCause cause) {
    eviction_log.Note(key, cause);
    if (cause != EvictionCause::kCorrupt) return;
    damaged->Write("entry " + key.Hex() +
                   " was damaged and is dropped; it is compiled again when it is asked for");
  };
  Result<std::unique_ptr<RocksdbStore>> disk =
      RocksdbStore::Open(std::move(options), stores->statistics);
  if (!disk) return OfSetting("state_dir", disk.error());
  stores->disk = *std::move(disk);
  return stores;
}

Daemon::Daemon(Parts parts)
    : log_(parts.log),
      cut_offs_(log_, "connection"),
      zygote_ends_(log_, "compiler"),
      job_memory_(JobMemory::Make(JobMemoryOf(parts.configuration.clients))),
      budget_(parts.configuration.clients),
      compiler_(
          parts.worker, ZygotesOf(log_),
          [this](std::string_view text) { zygote_ends_.Write(text); }, job_memory_),
      toolchains_(ToolchainsOf(parts.configuration, parts.worker), *parts.stores.disk, compiler_,
                  [&log = log_](const ToolchainReport& report) {
                    log.Write(report.warning ? LogLevel::kWarning : LogLevel::kInfo, "toolchain",
                              report.text);
                  }),
      releases_({.directory = ReleasesDirectory(parts.configuration),
                 .bytes = {.per_account = parts.configuration.release_limit_per_uid,
                           .in_all = parts.configuration.release_limit},
                 .find_account = [&accounts =
                                      parts.accounts](uid_t uid) { return accounts.OfStored(uid); },
                 .look_again =
                     [this](std::function<void()> done) { toolchains_.Rescan(std::move(done)); }},
                toolchains_),
      files_({.own_places = std::move(parts.own_places),
              .own_uid = geteuid(),
              .own_view = FilesViewOfThisThread(),
              .memory = job_memory_}),
      sent_contents_(std::make_shared<SentContents>(std::chrono::steady_clock::now)),
      redis_(RedisOf(parts.remote, parts.stores.statistics, log_)),
      shelves_(ShelvesOf(parts.remote, parts.stores.statistics, redis_.get(), log_)),
      coordinator_({.toolchains = toolchains_,
                    .compiler = compiler_,
                    .files = files_,
                    .tiers = {&parts.stores.memory, parts.stores.disk.get()},
                    .statistics = parts.stores.statistics,
                    .eviction_log = parts.stores.eviction_log,
                    .observe =
                        [this](const BuildRecord& record) {
                          breakdown_.Add(record);
                          failures_.Add(record);
                          LogBuild(log_, record);
                        },
                    .report = ReportTo(log_, "build"),
                    .answered = &parts.stores.disk->answered(),
                    .own = &parts.stores.disk->own(),
                    .sent_contents = sent_contents_,
                    .cluster = FirstOf(shelves_.get(), redis_.get()),
                    .find_account =
                        [&accounts = parts.accounts](uid_t uid) { return accounts.OfStored(uid); }},
                   parts.configuration.builds),
      deposits_({.limits = parts.configuration.deposits,
                 .run = parts.stores.disk->run(),
                 .shared_groups = std::move(parts.remote.shared_groups),
                 .shared_bytes = parts.remote.shared_bytes},
                {parts.stores.disk->deposits(), parts.stores.statistics,
                 [&accounts = parts.accounts](uid_t uid) { return accounts.OfStored(uid); },
                 redis_.get(), [this](const DepositEvent& event) { breakdown_.Add(event); }}),
      snapshots_({.answered = parts.stores.disk->answered(),
                  .own = parts.stores.disk->own(),
                  .cache = coordinator_.cache(),
                  .deposits = deposits_,
                  .tiers = {parts.stores.disk.get(), &parts.stores.memory},
                  .directory = parts.configuration.state_dir,
                  .shared_limit = parts.configuration.store_limit,
                  .await_room = [&disk = *parts.stores.disk] { disk.AwaitRoom(); }}),
      upkeep_(
          {.disk = *parts.stores.disk,
           .memory = parts.stores.memory,
           .deposits = deposits_,
           .eviction_log = parts.stores.eviction_log,
           .report = [&log = log_](
                         std::string_view text) { log.Write(LogLevel::kInfo, "upkeep", text); }}),
      server_({.limits = parts.configuration.clients,
               .build_limits = parts.configuration.builds,
               .store_limit = parts.configuration.store_limit,
               .version = std::string(Version()),
               .admin_group = parts.admin_group,
               .tick = TickOf(parts.watchdog, parts.configuration.idle_timeout),
               .idle_timeout = parts.configuration.idle_timeout},
              {.builder = coordinator_,
               .queue = coordinator_.queue(),
               .budget = budget_,
               .deposits = deposits_,
               .toolchains = toolchains_,
               .releases = releases_,
               .statistics = parts.stores.statistics,
               .hours = parts.stores.hours,
               .breakdown = breakdown_,
               .failures = failures_,
               .snapshots = snapshots_,
               .upkeep = upkeep_,
               .sent_contents = sent_contents_,
               .accounts = parts.accounts,
               .stored = [&disk = *parts.stores.disk] { return disk.size(); },
               .building = [this] { return coordinator_.Gauges(); },
               .activity = [this](const Peer& peer) { return coordinator_.Activity(peer); },
               .zygotes = [this] { return compiler_.Zygotes(); },
               .dearest = [this](const Peer& peer,
                                 size_t most) { return coordinator_.Dearest(peer, most); },
               .cluster = [this]() -> std::optional<ClusterGauges> {
                 if (redis_ == nullptr) return std::nullopt;
                 redis_->Refresh();  // the next call returns the refreshed values
                 return redis_->gauges();
               },
               .shelves =
                   [this] {
                     return shelves_ == nullptr ? std::nullopt : std::optional(shelves_->gauges());
                   },
               .report_cut_off = [this](std::string_view text) { cut_offs_.Write(text); },
               .report_lost_socket =
                   [this](std::string_view text) { log_.Write(LogLevel::kError, "socket", text); },
               .report_idle = std::move(parts.idle),
               .alive = AliveOf(parts, coordinator_)}),
      housekeeping_(
          {.toolchains = toolchains_,
           .compiler = compiler_,
           .meta = *parts.stores.disk,
           .statistics = parts.stores.statistics,
           .hours = parts.stores.hours,
           .eviction_log = parts.stores.eviction_log,
           .log = log_,
           .store_problem = [&disk = *parts.stores.disk] { return disk.problem(); },
           .lease_problem =
               [this, &disk = *parts.stores.disk] {
                 const Status granting = deposits_.Counted(disk.run());
                 return granting.ok() ? std::string() : granting.error().message;
               },
           .tell_problem = [this](std::string problem) { server_.SetProblem(std::move(problem)); },
           .look_at_shelves =
               [this] {
                 if (shelves_ != nullptr) shelves_->LookAgain();
               }}) {}

void Daemon::Trust(const std::shared_ptr<const TrustList>& trusted) {
  if (redis_ != nullptr) redis_->Trust(trusted);
  if (shelves_ != nullptr) shelves_->Trust(trusted);
}

Status Daemon::Start(std::vector<ListeningSocket> sockets) {
  for (ListeningSocket& socket : sockets) {
    log_.Write(LogLevel::kInfo, "start", "listening", {{"socket", socket.path()}});
    server_.AddListener(std::move(socket));
  }
  return server_.Start();
}

void Daemon::Stop() {
  // Toolchains are stopped first. This answers the builds that wait for a toolchain, and no
  // callback of a toolchain runs later.
  toolchains_.Stop();
  server_.StoppingSoon();
  server_.StopAccepting();
  deposits_.Stop();
  coordinator_.Drain(kDrainDeadline);
  server_.Shutdown(kShutdownDeadline);
}

}  // namespace cccl_cache::daemon
