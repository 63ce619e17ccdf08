// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/files/file_descriptor.h"
#include "cli/daemon_answers.h"
#include "cli/doctor/check.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

constexpr std::chrono::seconds kAnswerPatience{5};
// A daemon that has just started looks for toolchains before it answers.
constexpr std::chrono::seconds kSearchPatience{10};
// The first build of a toolchain loads its compilers, and may wait behind other builds.
constexpr std::chrono::seconds kTestBuildPatience{60};

constexpr const char* kSystemSocket = "/run/cccl-cached/socket";
// The origin of a socket's path without an option or variable.
constexpr const char* kSystems = "the system's";
constexpr const char* kUsers = "this user's";

Check NoDaemon(const char* name) { return {name, CheckVerdict::kSkipped, "no daemon"}; }

/// Returns the errno of connecting; 0: connected.
int Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  path.copy(address.sun_path, path.size());
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISSOCK(status.st_mode)) return ENOTSOCK;
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return errno;
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  return connect(socket.get(), generic, sizeof(address)) == 0 ? 0 : errno;
}

std::string OriginOf(const std::string& path, const std::string& given) {
  if (!given.empty()) return "--socket";
  const char* named = secure_getenv("CCCL_CACHE_SOCKET");
  if (named != nullptr && *named != '\0') return "$CCCL_CACHE_SOCKET";
  return path == kSystemSocket ? kSystems : kUsers;
}

std::string StartingAt(const std::string& path, const std::string& origin) {
  if (origin == kUsers) return "systemctl --user start cccl-cached.socket";
  if (origin != kSystems) return "start one there: cccl-cached --socket " + path;
  return "sudo systemctl start cccl-cached.socket; or for yourself: systemctl --user start "
         "cccl-cached.socket";
}

std::string ReadLog(const std::string& path, const std::string& origin) {
  if (origin != kUsers && origin != kSystems) return "read the log of the daemon at " + path;
  const std::string whose = origin == kUsers ? "--user " : "";
  return "read the daemon's log (journalctl " + whose + "-u cccl-cached), then systemctl " + whose +
         "restart cccl-cached";
}

/// The patient's client must be open.
std::string ReadLog(const Patient& patient) {
  const std::string path(patient.client->socket());
  return ReadLog(path, OriginOf(path, patient.given_socket));
}

/// ", owner uid 0, mode 0666"
std::string Permissions(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return "";
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), ", owner uid %u, mode %04o", status.st_uid,
                static_cast<unsigned>(status.st_mode & 07777));
  return text.data();
}

Error TakeInfo(Client* client, DaemonAnswers* answers) {
  Expected<DaemonInfo> info = AskInfo(*client, kAnswerPatience);
  if (!info.ok()) return info.error();
  answers->version = info->version;
  answers->problem = info->problem;
  answers->uid = info->uid;
  answers->worker_bytes = info->limits["worker_bytes"];
  answers->build_seconds = info->limits["build_seconds"];
  answers->queued = info->limits["queued"];
  return {CCCL_CACHE_OK, ""};
}

void TakeToolchains(Client* client, uint32_t driver_version, DaemonAnswers* answers) {
  const Expected<ToolchainList> list = AskToolchains(*client, driver_version, kSearchPatience);
  if (!list.ok()) {
    answers->toolchains_error = list.error().message;
    return;
  }
  for (const Toolchain& each : list->toolchains) {
    ListedToolchain& listed =
        answers->toolchains.emplace_back(ListedToolchain{each.version, each.selected_by_default});
    if (!each.architectures.empty()) listed.architecture = each.architectures.front();
    for (const ToolchainComponent& part : each.components) listed.files.push_back(part.path);
  }
  for (const auto& [root, reason] : list->rejected) answers->rejected.emplace_back(root, reason);
}

Error TakeStatistics(Client* client, DaemonAnswers* answers) {
  const Expected<Statistics> stats = AskStatistics(*client, kAnswerPatience);
  if (!stats.ok()) return stats.error();
  answers->statistics.clear();
  for (const Statistic& each : stats->statistics) answers->statistics[each.name] += each.value;
  answers->remote_address = stats->remote.address;
  answers->remote_problem = stats->remote.problem;
  return {CCCL_CACHE_OK, ""};
}

Expected<DaemonAnswers> Ask(Client* client, uint32_t driver_version) {
  DaemonAnswers answers;
  const Expected<bool> serving = client->Health(kAnswerPatience);
  if (!serving.ok()) return serving.error();
  answers.serving = *serving;
  // Before asking for the daemon's problem, which may be that it still looks for toolchains.
  TakeToolchains(client, driver_version, &answers);
  if (Error error = TakeInfo(client, &answers); error.status != CCCL_CACHE_OK) return error;
  static_cast<void>(TakeStatistics(client, &answers));  // CheckStore asks again
  return answers;
}

/// Returns a program that is in no cache.
std::string NewProgram() {
  std::random_device random;
  std::array<char, 32> name = {};
  std::snprintf(name.data(), name.size(), "%08x%08x", random(), random());
  return "extern \"C\" __global__ void cccl_cache_doctor_" + std::string(name.data()) + "() {}\n";
}

std::string Milliseconds(const BuildResult& result) {
  constexpr double kMicroseconds = 1000;
  return Fixed(static_cast<double>(result.info().total_us) / kMicroseconds, "ms");
}

/// Returns an outcome with its reason: "uncacheable: it names the time".
std::string OutcomeOf(const BuildResult& result) {
  const std::string_view why = result.compiled() ? result.reason() : result.log();
  std::string text = cccl_cache_outcome_name(result.info().outcome);
  return why.empty() ? text : text + ": " + std::string(why.substr(0, why.find('\n')));
}

/// Judges the results of the same request sent twice. `explained`: why the second one is no hit.
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
                 ") in " + Milliseconds(second) + ", the same " +
                 Bytes(static_cast<double>(made.size()));
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
  // Without a fallback, because the daemon itself must do both builds.
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
              "cccl-cached " + answers.version + " (this is " + cccl_cache_version() + "), uid " +
                  std::to_string(answers.uid)};
  if (answers.statistics.contains("uptime_seconds")) {
    check.seen += ", up " + Duration(answers.ValueOf("uptime_seconds"));
  }
  if (answers.serving && answers.problem.empty()) return check;
  check.verdict = CheckVerdict::kFailure;
  check.seen += answers.serving ? "; not ready: " + answers.problem : "; it is stopping";
  check.way_out = answers.serving
                      ? "do what its problem asks for, until cccl-cache-cli health --ready succeeds"
                      : "wait until it has ended and started again";
  return check;
}

Check CheckToolchains(const Patient& patient) {
  if (!patient.daemon.ok()) return NoDaemon("toolchains");
  const DaemonAnswers& answers = *patient.daemon;
  Check check{"toolchains"};
  if (!answers.toolchains_error.empty()) {
    check.verdict = CheckVerdict::kWarning;
    check.seen = "not known: " + answers.toolchains_error;
    check.way_out = "after its start the daemon looks for them: try again in a minute";
    return check;
  }
  for (const ListedToolchain& each : answers.toolchains) {
    check.seen += (check.seen.empty() ? "" : ", ") + each.version;
    if (each.is_default) check.seen += " (default)";
  }
  if (answers.toolchains.empty()) {
    check.seen = "none";
    check.verdict = CheckVerdict::kFailure;
    check.way_out =
        "install CUDA's packages or wheels, or name their directory as toolchain_root in the "
        "daemon's config.toml";
  } else if (!answers.rejected.empty()) {
    check.verdict = CheckVerdict::kWarning;
    check.way_out = "repair those that a program needs; the daemon looks again later";
  }
  for (const auto& [root, reason] : answers.rejected) {
    check.seen += "; not used: " + root + ": " + reason;
  }
  return check;
}

Check CheckBuild(Patient* patient) {
  if (!patient->daemon.ok()) return NoDaemon("build");
  const std::vector<ListedToolchain>& toolchains = patient->daemon->toolchains;
  const std::string source = NewProgram();
  std::string architecture = "sm_80";
  for (const ListedToolchain& each : toolchains) {
    if (each.is_default && !each.architecture.empty()) architecture = each.architecture;
  }
  if (toolchains.empty() && patient->daemon->toolchains_error.empty()) {
    return {"build", CheckVerdict::kSkipped, "no toolchain"};
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
  // Asked again, because the test build has been written to the store since.
  static_cast<void>(TakeInfo(&*patient->client, &answers));
  const Error error = TakeStatistics(&*patient->client, &answers);
  // Only this problem says that the store can't be written now: the counters are never reset.
  // CheckDaemon reports other problems.
  if (answers.problem.find("its store can't be written") != std::string::npos) {
    return {"store", CheckVerdict::kFailure, answers.problem,
            "make room on the disk of the daemon's state directory; if that does not help, " +
                ReadLog(*patient)};
  }
  if (error.status != CCCL_CACHE_OK) {
    return {"store", CheckVerdict::kWarning, "not known: " + error.message,
            "try again; if that does not help, " + ReadLog(*patient)};
  }
  const auto count = [&answers](const char* name) { return Count(answers.ValueOf(name)); };
  Check check{"store", CheckVerdict::kPass,
              Use(answers.ValueOf("bytes"), answers.ValueOf("store_limit_bytes")) +
                  "; entries: " + count("entries") + ", evicted: " + count("evictions_total")};
  if (answers.ValueOf("store_errors_total") > 0) {
    check.seen += ", earlier writes that failed: " + count("store_errors_total");
  }
  return check;
}

}  // namespace cccl_cache::cli
