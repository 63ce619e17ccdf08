// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
//
// cccl-cached: reads the configuration, serves clients, and runs until a signal stops it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/standard_descriptors.h"
#include "daemon/configuration/load.h"
#include "daemon/configuration/settings.h"
#include "daemon/daemon.h"
#include "daemon/layer_options.h"
#include "daemon/process/log.h"
#include "daemon/process/service_process.h"
#include "daemon/process/usable_memory.h"
#include "daemon/process/worker_path.h"
#include "daemon/service/limits/accounts.h"
#include "daemon/service/server.h"
#include "daemon/service/transport/grpc_log.h"
#include "daemon/service/transport/listening_socket.h"
#include "daemon/toolchain/registry.h"
#include "daemon/version.h"

namespace cccl_cache::daemon {
namespace {

/// Exit codes for scripts and for systemd: these numbers never change.
enum ExitCode : int {
  kDone = 0,
  kBadConfiguration = 2,  ///< flags, environment or configuration file are invalid; a restart does
                          ///< not help
  kCannotServe = 3,       ///< for example, another daemon uses the state directory or the socket
  kCutShort = 4,          ///< stopped before all work in progress had ended
};

constexpr std::chrono::hours kUntilToldSo{1};
/// Maximum duration of a stop. It is shorter than systemd's limit (TimeoutStopSec in the units).
constexpr std::chrono::seconds kLongestStop{20};

/// Writes with fputs, because fmt::print throws if standard error can't be written.
void Say(const std::string& message) {
  std::fputs(("cccl-cached: " + message + "\n").c_str(), stderr);
}

int Print(std::string_view text) {
  const bool printed =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (printed) return kDone;
  Say("can't write to standard output: " + std::string(std::strerror(errno)));
  return kCannotServe;
}

int Refuse(const Error& error, ExitCode code) {
  Say(error.message);
  return code;
}

/// The data from which a reload on SIGHUP reads the configuration again, and the present
/// configuration.
struct Startup {
  CommandLine command_line;
  Surroundings surroundings;
  LoadedConfiguration loaded;
};

/// Returns the sockets that systemd handed over, or the daemon's own socket if there are none. The
/// sockets for containers are always the daemon's own.
Result<std::vector<ListeningSocket>> Listen(std::vector<ListeningSocket> handed_over,
                                            const std::vector<ListenOptions>& all) {
  std::vector<ListeningSocket> sockets = std::move(handed_over);
  const bool was_handed_over = !sockets.empty();
  for (const ListenOptions& options : all) {
    if (was_handed_over && !options.for_containers) continue;
    Result<ListeningSocket> own = ListeningSocket::Bind(options);
    if (!own) {
      return OfSetting(options.for_containers ? "container_socket" : "socket", own.error());
    }
    sockets.push_back(*std::move(own));
  }
  return sockets;
}

/// Reads the configuration again. Applies the log level, and logs which settings have changed. The
/// other changed settings take effect at the next start. Returns whether the configuration could be
/// read.
bool ReloadConfiguration(Startup& startup, Log& log) {
  const Result<LoadedConfiguration> loaded =
      LoadConfiguration(startup.command_line, startup.surroundings);
  if (!loaded) {
    log.Write(LogLevel::kError, "reload", "kept the old configuration: " + loaded.error().message);
    return false;
  }
  // While the changes are logged, the more verbose of the old and the new level applies.
  const LogLevel level = loaded->values.log_level;
  log.SetLevel(std::max(level, startup.loaded.values.log_level));
  for (const Setting& setting : Settings()) {
    const std::string was = setting.show(startup.loaded.values);
    const std::string is = setting.show(loaded->values);
    if (was == is) continue;
    const bool now = setting.name == "log_level";
    log.Write(now ? LogLevel::kInfo : LogLevel::kWarning, "reload",
              fmt::format("{} is {} from {} on", setting.name, is, now ? "now" : "the next start"),
              {{"was", was}});
  }
  startup.loaded.values.log_level = level;
  log.SetLevel(level);
  return true;
}

/// Reads the trusted keys again. One of them must have signed an entry of another node or a
/// snapshot on a shelf. Returns whether the keys could be read.
bool ReloadTrust(const Configuration& configuration, Daemon& daemon, Log& log) {
  const auto trusted = TrustList::Load(configuration.remote.trust);
  // After an error no key is trusted, because the earlier keys may have been revoked.
  daemon.Trust(trusted ? *trusted : std::make_shared<const TrustList>());
  if (trusted) {
    log.Write(LogLevel::kInfo, "reload", fmt::format("{} keys are trusted", (*trusted)->size()));
  } else {
    log.Write(LogLevel::kError, "reload",
              "no key is trusted: " + OfSetting("remote_trust", trusted.error()).message);
  }
  return trusted.ok();
}

/// Handles each SIGHUP, and returns at SIGTERM or SIGINT.
void WaitForTheEnd(const Signals& signals, const NotifySocket& notify, Startup& startup, Log& log,
                   Daemon& daemon) {
  while (true) {
    switch (signals.Wait(kUntilToldSo)) {
      case Told::kStop:
        return;
      case Told::kReload: {
        notify.Reloading();
        bool done = ReloadConfiguration(startup, log);
        if (daemon.shares()) done &= ReloadTrust(startup.loaded.values, daemon, log);
        daemon.toolchains().Rescan([&notify, &log, done] {
          if (done) {
            log.Write(LogLevel::kInfo, "reload", "done");
          } else {
            log.Write(LogLevel::kError, "reload",
                      "failed in part: mend the errors above and reload again");
          }
          notify.Ready();
        });
        break;
      }
      case Told::kNothing:
        break;
    }
  }
}

int Serve(Startup startup, const Signals& signals, std::vector<ListeningSocket> handed_over) {
  Configuration configuration = startup.loaded.values;
  configuration.builds.memory_bytes = CompileMemoryOf(configuration, UsableMemory());
  configuration.builds.reservable_bytes = CompileMemoryOf(configuration, MemoryWithClients());
  const NotifySocket notify(startup.surroundings.Variable("NOTIFY_SOCKET"));
  const Result<std::vector<ListenOptions>> listen_options = ListenOptionsOf(configuration);
  if (!listen_options) return Refuse(listen_options.error(), kBadConfiguration);
  const Result<std::optional<gid_t>> admin_group = AdminGroupOf(configuration);
  if (!admin_group) return Refuse(admin_group.error(), kBadConfiguration);
  const Result<std::string> worker = FindWorker();
  if (!worker) return Refuse(worker.error(), kCannotServe);
  // Checked first, because gRPC waits forever for a thread that could not be started.
  const Status threads = CheckThreads(ThreadsFor(configuration.builds.slots));
  if (!threads) return Refuse(threads.error(), kCannotServe);

  Result<RemoteSetup> remote = RemoteSetupOf(configuration);
  if (!remote) return Refuse(remote.error(), kBadConfiguration);

  Log log(configuration.log_level, configuration.log_format,
          JournalOf(STDERR_FILENO, startup.surroundings.Variable("JOURNAL_STREAM")));
  if (remote->any() && configuration.remote.trust.empty()) {
    log.Write(LogLevel::kWarning, "remote",
              "no key is trusted, so nothing is taken from other nodes or shelves: set "
              "remote_trust");
  }
  LimitedLog grpc_lines(log, "grpc");
  const GrpcLog grpc_log([&grpc_lines](std::string_view text) { grpc_lines.Write(text); });
  std::optional<LastExit> last_exit;  // destroyed last, because the destructors of later objects
                                      // may hang
  LimitedLog container_lines(log, "container", LimitedLog::Clock::now, LogLevel::kInfo);
  // Created before the stores, which charge the entries that they load to accounts.
  Accounts accounts;
  accounts.containers().SetReport([&](std::string_view text) { container_lines.Write(text); });
  const Result<std::unique_ptr<Stores>> stores = Stores::Open(
      configuration, [&accounts](uid_t uid) { return accounts.OfStored(uid); }, log);
  if (!stores) return Refuse(stores.error(), kCannotServe);
  Result<std::vector<ListeningSocket>> sockets = Listen(std::move(handed_over), *listen_options);
  if (!sockets) return Refuse(sockets.error(), kCannotServe);
  const Status apart =
      ListeningSocket::CheckApart(*sockets, PrivatePlacesOf(startup.loaded, startup.surroundings));
  if (!apart) {
    return Refuse(OfSetting("container_socket", apart.error()), kBadConfiguration);
  }
  Daemon daemon({.configuration = configuration,
                 .worker = *worker,
                 .own_places = OwnPlacesOf(startup.loaded, startup.surroundings),
                 .admin_group = *admin_group,
                 .stores = **stores,
                 .accounts = accounts,
                 .remote = *std::move(remote),
                 .log = log,
                 .watchdog = WatchdogTimeout(startup.surroundings.Variable("WATCHDOG_USEC"),
                                             startup.surroundings.Variable("WATCHDOG_PID")),
                 .alive = [&notify] { notify.Alive(); },
                 .idle =
                     [&log] {
                       log.Write(LogLevel::kInfo, "stop", "unused for the time of idle_timeout");
                       StopThisProcess();
                     }});
  const Status started = daemon.Start(*std::move(sockets));
  if (!started) return Refuse(started.error(), kCannotServe);
  notify.Ready();

  WaitForTheEnd(signals, notify, startup, log, daemon);

  last_exit.emplace(signals, kLongestStop, kCutShort);
  log.Write(
      LogLevel::kInfo, "stop",
      fmt::format("finishing what is under way, for {} s at most; a second signal ends it now",
                  kLongestStop.count()));
  notify.Stopping();
  daemon.Stop();
  return kDone;
}

int Main(std::vector<std::string> arguments) {
  Result<CommandLine> command_line = ParseCommandLine(std::move(arguments));
  if (!command_line) return Refuse(command_line.error(), kBadConfiguration);
  if (command_line->help) return Print(*command_line->help);
  if (command_line->version) return Print(fmt::format("cccl-cached {}\n", Version()));
  const Surroundings surroundings = Surroundings::OfThisProcess();
  Result<LoadedConfiguration> loaded = LoadConfiguration(*command_line, surroundings);
  if (!loaded) return Refuse(loaded.error(), kBadConfiguration);
  if (command_line->print_config) return Print(PrintConfiguration(*loaded));
  if (const Status complete = CheckComplete(*loaded, surroundings); !complete) {
    return Refuse(complete.error(), kBadConfiguration);
  }

  // Signals must be blocked before the first thread starts, because threads inherit the signal
  // mask. FromSystemd() and WaitForEachServerAlone() change the environment, which is also safe
  // only before that.
  const Signals signals;
  Result<std::vector<ListeningSocket>> handed_over = ListeningSocket::FromSystemd();
  if (!handed_over) return Refuse(handed_over.error(), kBadConfiguration);
  WaitForEachServerAlone();
  RaiseFileLimit();
  return Serve({*std::move(command_line), surroundings, *std::move(loaded)}, signals,
               *std::move(handed_over));
}

}  // namespace
}  // namespace cccl_cache::daemon

int main(int argc, char** argv) {
  cccl_cache::OccupyStandardDescriptors();
  return cccl_cache::daemon::Main(std::vector<std::string>(argv + 1, argv + argc));
}
