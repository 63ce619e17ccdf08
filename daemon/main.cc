// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// cccl-cached: reads the configuration, makes each object once, wires them, runs until told to
// stop.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/compile/worker_compiler.h"
#include "daemon/configuration/load.h"
#include "daemon/configuration/settings.h"
#include "daemon/configured.h"
#include "daemon/core/build_coordinator.h"
#include "daemon/core/departures.h"
#include "daemon/core/statistics.h"
#include "daemon/files/host_file_access.h"
#include "daemon/housekeeping.h"
#include "daemon/process/build_log.h"
#include "daemon/process/file_limit.h"
#include "daemon/process/log.h"
#include "daemon/process/notify_socket.h"
#include "daemon/process/signals.h"
#include "daemon/process/worker_path.h"
#include "daemon/service/builder.h"
#include "daemon/service/listening_socket.h"
#include "daemon/service/server.h"
#include "daemon/store/memory_store.h"
#include "daemon/store/rocksdb_store.h"
#include "daemon/toolchain/toolchain_registry.h"

namespace cccl_cached {
namespace {

/// For scripts and for systemd: these numbers never change.
enum ExitCode : int {
  kDone = 0,
  kBadConfiguration = 2,  ///< flags, environment or file; trying again does not help
  kCannotServe = 3,       ///< state directory or socket: taken by another daemon, not writable, ...
};

constexpr std::chrono::seconds kDrainDeadline{10};
constexpr std::chrono::seconds kShutdownDeadline{2};
constexpr std::chrono::hours kUntilToldSo{1};

int Refuse(const Error& error, ExitCode code) {
  fmt::print(stderr, "cccl-cached: {}\n", error.message);
  return code;
}

/// What SIGHUP goes by.
struct Startup {
  CommandLine command_line;
  Surroundings surroundings;
  LoadedConfiguration loaded;
};

RocksdbStoreOptions StoreOptions(const Configuration& configuration, MemoryStore& memory,
                                 Departures& departures, Log& log) {
  RocksdbStoreOptions options;
  options.directory = configuration.state_dir;
  options.limit_bytes = configuration.store_limit;
  options.report = [&log](std::string_view text) { log.Write(LogLevel::kWarning, "store", text); };
  options.used_elsewhere = [&memory](const cccl_cache::Digest& key) { return memory.Holds(key); };
  options.departed = [&departures](const cccl_cache::Digest& key, DepartureCause cause) {
    departures.Note(key, cause);
  };
  return options;
}

RegistryOptions ToolchainOptions(const Configuration& configuration) {
  RegistryOptions options;
  options.places = SystemSearchPlaces(configuration.toolchain_root);
  if (configuration.toolchain_search == ToolchainSearch::kRoots) {
    options.places = {.roots = configuration.toolchain_root, .targets = options.places.targets};
  }
  options.own_uid = geteuid();
  return options;
}

/// Those that systemd handed over, else our own.
Result<std::vector<ListeningSocket>> Listen(std::vector<ListeningSocket> handed_over,
                                            const ListenOptions& options) {
  if (!handed_over.empty()) return handed_over;
  Result<ListeningSocket> own = ListeningSocket::Bind(options);
  if (!own) return own.error();
  std::vector<ListeningSocket> sockets;
  sockets.push_back(*std::move(own));
  return sockets;
}

/// Reads the configuration anew. Takes the log level over; says what needs a restart.
void ReloadConfiguration(const Startup& startup, Log& log) {
  const Result<LoadedConfiguration> loaded =
      LoadConfiguration(startup.command_line, startup.surroundings);
  if (!loaded) {
    log.Write(LogLevel::kError, "reload", "kept the old configuration: " + loaded.error().message);
  } else {
    for (const Setting& setting : Settings()) {
      if (setting.name == "log_level" ||
          setting.show(loaded->values) == setting.show(startup.loaded.values)) {
        continue;
      }
      log.Write(LogLevel::kWarning, "reload",
                fmt::format("{} changes at the next start", setting.name));
    }
    log.SetLevel(loaded->values.log_level);
  }
}

/// Until SIGTERM or SIGINT.
void WaitForTheEnd(const Signals& signals, const NotifySocket& notify, const Startup& startup,
                   Log& log, ToolchainRegistry& toolchains) {
  while (true) {
    switch (signals.Wait(kUntilToldSo)) {
      case Told::kStop:
        return;
      case Told::kReload:
        notify.Reloading();
        ReloadConfiguration(startup, log);
        toolchains.Rescan([&notify, &log] {
          log.Write(LogLevel::kInfo, "reload", "done");
          notify.Ready();
        });
        break;
      case Told::kNothing:
        break;
    }
  }
}

int Serve(Startup startup, const Signals& signals, std::vector<ListeningSocket> handed_over) {
  const Configuration configuration = startup.loaded.values;
  const NotifySocket notify(startup.surroundings.Variable("NOTIFY_SOCKET"));
  const Result<ListenOptions> listen_options = ListenOptionsOf(configuration);
  if (!listen_options) return Refuse(listen_options.error(), kBadConfiguration);
  const Result<std::string> worker = FindWorker();
  if (!worker) return Refuse(worker.error(), kCannotServe);

  Log log(configuration.log_level, configuration.log_format);
  Statistics statistics;
  Departures departures;
  MemoryStore memory(configuration.memory_limit);
  Result<std::unique_ptr<RocksdbStore>> opened =
      RocksdbStore::Open(StoreOptions(configuration, memory, departures, log), statistics);
  if (!opened) return Refuse(opened.error(), kCannotServe);
  RocksdbStore& store = **opened;
  Result<std::vector<ListeningSocket>> sockets = Listen(std::move(handed_over), *listen_options);
  if (!sockets) return Refuse(sockets.error(), kCannotServe);

  const BuildLimits build_limits = BuildLimitsOf(configuration);
  ZygoteOptions zygotes;
  zygotes.announce_sandbox = [&log](const ZygoteReady& ready) {
    const bool none = ready.sandbox == SandboxKind::kNone;
    log.Write(none ? LogLevel::kWarning : LogLevel::kInfo, "sandbox", ready.description);
  };
  WorkerCompiler compiler(*worker, std::move(zygotes), [&log](std::string_view text) {
    log.Write(LogLevel::kWarning, "compiler", text);
  });
  ToolchainRegistry toolchains(
      ToolchainOptions(configuration), store, compiler, [&log](const ToolchainReport& report) {
        log.Write(report.warning ? LogLevel::kWarning : LogLevel::kInfo, "toolchain", report.text);
      });
  HostFileAccess files({.own_directories = OwnDirectoriesOf(configuration, startup.surroundings),
                        .own_uid = geteuid(),
                        .own_view = cccl_cache::FilesViewOfThisProcess()});
  BuildCoordinator coordinator(
      {.toolchains = toolchains,
       .compiler = compiler,
       .files = files,
       .tiers = {&memory, &store},
       .statistics = statistics,
       .departures = departures,
       .observe = [&log](const BuildRecord& record) { LogBuild(log, record); },
       .report = [&log](std::string_view text) { log.Write(LogLevel::kWarning, "build", text); }},
      build_limits);
  Housekeeping housekeeping({toolchains, compiler, store, statistics, log});
  CoordinatorBuilder builder(coordinator);
  Server server({.limits = ServiceLimitsOf(configuration),
                 .build_limits = build_limits,
                 .version = CCCL_CACHED_VERSION},
                {.builder = builder,
                 .toolchains = toolchains,
                 .statistics = statistics,
                 .stored = [&store] { return store.size(); },
                 .building = [&coordinator] { return coordinator.Gauges(); }});
  for (ListeningSocket& socket : *sockets) {
    log.Write(LogLevel::kInfo, "start", "listening", {{"socket", socket.path()}});
    server.AddListener(std::move(socket));
  }
  if (const Status started = server.Start(); !started) return Refuse(started.error(), kCannotServe);
  notify.Ready();

  WaitForTheEnd(signals, notify, startup, log, toolchains);

  log.Write(LogLevel::kInfo, "stop", "finishing what is under way");
  // First: builds that wait for a toolchain to be identified are answered, and nothing calls back.
  toolchains.Stop();
  notify.Stopping();
  server.StoppingSoon();
  coordinator.Drain(kDrainDeadline);
  server.Shutdown(kShutdownDeadline);
  return kDone;
}

int Main(std::vector<std::string> arguments) {
  Result<CommandLine> command_line = ParseCommandLine(std::move(arguments));
  if (!command_line) return Refuse(command_line.error(), kBadConfiguration);
  if (command_line->help) {
    fmt::print("{}", *command_line->help);
    return kDone;
  }
  if (command_line->version) {
    fmt::print("cccl-cached {}\n", CCCL_CACHED_VERSION);
    return kDone;
  }
  const Surroundings surroundings = Surroundings::OfThisProcess();
  Result<LoadedConfiguration> loaded = LoadConfiguration(*command_line, surroundings);
  if (!loaded) return Refuse(loaded.error(), kBadConfiguration);
  if (command_line->print_config) {
    fmt::print("{}", PrintConfiguration(*loaded));
    return kDone;
  }
  if (const Status complete = CheckComplete(*loaded, surroundings); !complete) {
    return Refuse(complete.error(), kBadConfiguration);
  }

  // Before the first thread: the signal mask is inherited, and the environment is changed.
  const Signals signals;
  Result<std::vector<ListeningSocket>> handed_over = ListeningSocket::FromSystemd();
  if (!handed_over) return Refuse(handed_over.error(), kBadConfiguration);
  RaiseFileLimit();
  return Serve({*std::move(command_line), surroundings, *std::move(loaded)}, signals,
               *std::move(handed_over));
}

}  // namespace
}  // namespace cccl_cached

int main(int argc, char** argv) {
  return cccl_cached::Main(std::vector<std::string>(argv + 1, argv + argc));
}
