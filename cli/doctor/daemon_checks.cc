// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/files/file_descriptor.h"
#include "base/files/own_path.h"
#include "base/start_advice.h"
#include "base/unix_socket.h"
#include "cli/doctor/check.h"
#include "cli/run/daemon/process.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::seconds kAnswerPatience{5};
// A daemon that has just started finds its toolchains before it answers this request.
constexpr std::chrono::seconds kSearchPatience{10};
// The first build with a toolchain must load its compilers, and may wait for other builds.
constexpr std::chrono::seconds kTestBuildPatience{60};

// Say whose default socket is used if neither --socket nor $CCCL_CACHE_SOCKET is given.
constexpr const char* kSystems = "the system's";
constexpr const char* kUsers = "this user's";

Check NoDaemon(const char* name) { return {name, CheckVerdict::kSkipped, "no daemon"}; }

/// Tries to connect to the socket. Returns 0 on success, or an errno.
int Connect(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISSOCK(status.st_mode)) return ENOTSOCK;
  return ConnectToSocket(path).valid() ? 0 : errno;
}

std::string OriginOf(const std::string& path, const std::string& given) {
  if (!given.empty()) return "--socket";
  const char* named = secure_getenv("CCCL_CACHE_SOCKET");
  if (named != nullptr && *named != '\0') return "$CCCL_CACHE_SOCKET";
  return path == kSystemSocket ? kSystems : kUsers;
}

std::string StartingAt(const std::string& path, const std::string& origin) {
  if (origin == kUsers) return AdviceHere(kStartOwn);
  return origin == kSystems ? AdviceHere(StartAdvice())
                            : "start one there: cccl-cached --socket " + path;
}

std::string ReadLog(const std::string& path, const std::string& origin) {
  if (origin != kUsers && origin != kSystems) return "read the log of the daemon at " + path;
  const std::string whose = origin == kUsers ? "--user " : "";
  return "read the daemon's log (journalctl " + whose + "-u cccl-cached), then systemctl " + whose +
         "restart cccl-cached" +
         (origin == kUsers ? "; or, if run --start started it, ~/.local/state/cccl-cached/log"
                           : "");
}

/// Requires that `patient.client` is open.
std::string ReadLog(const Patient& patient) {
  const std::string path(patient.client->socket());
  return ReadLog(path, OriginOf(path, patient.given_socket));
}

/// Returns text such as ", owner uid 0, mode 0666", or "" if the file's status can't be read.
std::string Permissions(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), ", owner uid %u, mode %04o", status.st_uid,
                static_cast<unsigned>(status.st_mode & 07777));
  return text.data();
}

Expected<DaemonAnswers> Ask(Client* client, uint32_t driver_version) {
  const Expected<bool> serving = client->Health(kAnswerPatience);
  if (!serving.ok()) return serving.error();
  DaemonAnswers answers{.serving = *serving};
  // The toolchains are requested first. This waits until the daemon has found them, and while it
  // searches, the search would be its problem.
  answers.toolchains = AskToolchains(*client, driver_version, kSearchPatience);
  Expected<DaemonInfo> info = AskInfo(*client, kAnswerPatience);
  if (!info.ok()) return info.error();
  answers.info = *std::move(info);
  // An error is ignored here: CheckStore() asks for the statistics again, and reports an error.
  Expected<Statistics> stats = AskStatistics(*client, kAnswerPatience);
  if (stats.ok()) answers.stats = *std::move(stats);
  return answers;
}

/// Returns the source of a program with a random name, so that no cache has it.
std::string NewProgram() {
  std::random_device random;
  std::array<char, 32> name = {};
  std::snprintf(name.data(), name.size(), "%08x%08x", random(), random());
  return "extern \"C\" __global__ void cccl_cache_doctor_" + std::string(name.data()) + "() {}\n";
}

std::string Milliseconds(const BuildResult& result) {
  return Fixed(static_cast<double>(result.info().total_us) / 1000, "ms");
}

/// Returns the outcome and its reason, for example "uncacheable: it names the time".
std::string OutcomeOf(const BuildResult& result) {
  const std::string_view why = result.compiled() ? result.reason() : result.log();
  std::string text = cccl_cache_outcome_name(result.info().outcome);
  return why.empty() ? text : text + ": " + std::string(why.substr(0, why.find('\n')));
}

/// Compares the results of the same request sent twice. `explained` is the daemon's reason why the
/// second result is not a hit.
Check JudgeBuilds(const BuildResult& first, const BuildResult& second, const std::string& explained,
                  const std::string& read_log) {
  Check check{"build"};
  const std::string_view made = first.artifact(Kind::kCubin);
  if (first.outcome() != Outcome::kBuilt) {
    check.seen = "a new program was not built and kept, but " + OutcomeOf(first);
  } else if (second.outcome() != Outcome::kHit) {
    check.seen = "the same program again was no hit, but " + OutcomeOf(second) +
                 " (explain: " + explained + ")";
  } else if (second.artifact(Kind::kCubin) != made || made.empty()) {
    check.seen = "the bytes of the hit differ from those of the build";
  } else {
    check.seen = "built in " + Milliseconds(first) + ", then a hit (" + std::string(second.tier()) +
                 ") in " + Milliseconds(second) + ", the same " + Bytes(made.size());
    return check;
  }
  check.verdict = CheckVerdict::kFailure;
  check.way_out = second.key().empty()
                      ? read_log
                      : "cccl-cache-cli explain " + std::string(second.key()) + ", and " + read_log;
  return check;
}

}  // namespace

Check JudgeSocket(const std::string& path, const std::string& origin, int error) {
  Check check{"socket", CheckVerdict::kFailure, path + " (" + origin + ")"};
  switch (error) {
    case 0:
      check.verdict = CheckVerdict::kPass;
      check.seen += Permissions(path);
      return check;
    case EACCES:
      check.seen +=
          ": you (uid " + std::to_string(geteuid()) + ") may not connect" + Permissions(path);
      check.way_out =
          origin == kSystems
              ? "join the socket's group, or set SocketMode= (systemctl edit cccl-cached.socket)"
              : "join the socket's group, or set socket_group and socket_mode in the daemon's "
                "config.toml";
      return check;
    case EAGAIN:
      check.seen += ": its daemon takes no connections";
      check.way_out = ReadLog(path, origin);
      return check;
    case ENOTSOCK:
      check.seen += ": it is no socket";
      check.way_out = "name a daemon's socket with --socket or in CCCL_CACHE_SOCKET, or neither";
      return check;
    case ECONNREFUSED:
      check.seen += ": nothing listens there, its daemon has ended";
      break;
    default:
      check.seen += std::string(": ") + std::strerror(error);
  }
  check.way_out = StartingAt(path, origin);
  return check;
}

Check CheckSocket(Patient* patient) {
  // The client has no fallback and no process cache, because the daemon itself must do both builds.
  patient->client = Client::Open(ClientOptions{.socket = patient->given_socket,
                                               .fallback = CCCL_CACHE_FALLBACK_ERROR,
                                               .process_cache_bytes = CCCL_CACHE_OFF});
  if (!patient->client.ok()) {
    return {"socket", CheckVerdict::kFailure, patient->client.error().message,
            "name the socket of a daemon that you trust in CCCL_CACHE_SOCKET"};
  }
  const std::string path(patient->client->socket());
  return JudgeSocket(path, OriginOf(path, patient->given_socket), Connect(path));
}

Check CheckDaemon(Patient* patient, bool connects) {
  if (!connects) return NoDaemon("daemon");
  patient->daemon = Ask(&*patient->client, patient->driver_version);
  if (!patient->daemon.ok()) {
    return {"daemon", CheckVerdict::kFailure, patient->daemon.error().message, ReadLog(*patient)};
  }
  const DaemonAnswers& answers = *patient->daemon;
  Check check{"daemon", CheckVerdict::kPass,
              "cccl-cached " + answers.info.version + " (this is " + cccl_cache_version() +
                  "), uid " + std::to_string(answers.info.uid)};
  if (answers.stats.Has("uptime_seconds")) {
    check.seen += ", up " + Duration(answers.stats.Sum("uptime_seconds"));
  }
  const std::string& problem = answers.info.problem;
  if (answers.serving && problem.empty()) return check;
  check.verdict = CheckVerdict::kFailure;
  check.seen += answers.serving ? "; not ready: " + problem : "; it is stopping";
  check.way_out = answers.serving
                      ? "do what its problem asks for, until cccl-cache-cli health --ready succeeds"
                      : "wait until it has ended and started again";
  return check;
}

Check CheckToolchains(const Patient& patient) {
  if (!patient.daemon.ok()) return NoDaemon("toolchains");
  const Expected<ToolchainList>& list = patient.daemon->toolchains;
  if (!list.ok()) {
    return {"toolchains", CheckVerdict::kWarning, "not known: " + list.error().message,
            "after its start the daemon looks for them: try again in a minute"};
  }
  Check check{"toolchains"};
  for (const Toolchain& each : list->toolchains) {
    check.seen += (check.seen.empty() ? "" : ", ") + each.version;
    if (each.selected_by_default) check.seen += " (default)";
  }
  if (list->toolchains.empty()) {
    check.seen = "none";
    check.verdict = CheckVerdict::kFailure;
    check.way_out =
        "install CUDA's packages or wheels, or name their directory as toolchain_root in the "
        "daemon's config.toml";
  } else if (!list->rejected.empty()) {
    check.verdict = CheckVerdict::kWarning;
    check.way_out = "repair those that a program needs; the daemon looks again later";
  }
  for (const auto& [root, reason] : list->rejected) {
    check.seen += "; not used: " + root + ": " + reason;
  }
  return check;
}

Check CheckBuild(Patient* patient) {
  if (!patient->daemon.ok()) return NoDaemon("build");
  const Expected<ToolchainList>& list = patient->daemon->toolchains;
  const std::string source = NewProgram();
  std::string architecture = "sm_80";
  if (list.ok()) {
    if (list->toolchains.empty()) return {"build", CheckVerdict::kSkipped, "no toolchain"};
    for (const Toolchain& each : list->toolchains) {
      const bool usable = each.selected_by_default && !each.architectures.empty();
      if (usable) architecture = each.architectures.front();
    }
  }
  const NvrtcBuild build{.source = source, .options = {"--gpu-architecture=" + architecture}};
  const BuildOptions options{.driver_version = patient->driver_version,
                             .wanted = {Kind::kCubin},
                             .timeout = kTestBuildPatience};
  Client& client = *patient->client;
  const Expected<BuildResult> first = client.Build(build, options);
  const Expected<BuildResult> second = first.ok() ? client.Build(build, options) : first.error();
  const std::string read_log = ReadLog(*patient);
  if (!second.ok()) return {"build", CheckVerdict::kFailure, second.error().message, read_log};
  if (second->outcome() == Outcome::kHit) return JudgeBuilds(*first, *second, "", read_log);
  const Expected<std::string> why = client.Explain(build, options);
  return JudgeBuilds(*first, *second, why.ok() ? ReadExplanation(*why).verdict : "not known",
                     read_log);
}

Check CheckStore(Patient* patient) {
  if (!patient->daemon.ok()) return NoDaemon("store");
  DaemonAnswers& answers = *patient->daemon;
  // The information is requested again, because the daemon has written the test build since.
  Expected<DaemonInfo> info = AskInfo(*patient->client, kAnswerPatience);
  if (info.ok()) answers.info = *std::move(info);
  Expected<Statistics> stats = AskStatistics(*patient->client, kAnswerPatience);
  // The store can't be written at present only if the daemon reports this problem: the error
  // counters are never reset, so they also show solved problems. CheckDaemon() reports the other
  // problems.
  const std::string& problem = answers.info.problem;
  if (problem.find("its store can't be written") != std::string::npos) {
    return {"store", CheckVerdict::kFailure, problem,
            "make room on the disk of the daemon's state directory; if that does not help, " +
                ReadLog(*patient)};
  }
  if (!stats.ok()) {
    return {"store", CheckVerdict::kWarning, "not known: " + stats.error().message,
            "try again; if that does not help, " + ReadLog(*patient)};
  }
  answers.stats = *std::move(stats);
  const auto sum = [&answers](const char* name) { return answers.stats.Sum(name); };
  Check check{"store", CheckVerdict::kPass,
              Use(sum("bytes"), sum("store_limit_bytes")) + "; entries: " + Count(sum("entries")) +
                  ", evicted: " + Count(sum("evictions_total"))};
  if (sum("store_errors_total") > 0) {
    check.seen += ", earlier writes that failed: " + Count(sum("store_errors_total"));
  }
  return check;
}

}  // namespace cccl_cache::cli
