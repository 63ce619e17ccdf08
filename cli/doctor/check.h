// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "cccl_cache/client.h"
#include "cli/daemon_answers.h"
#include "cli/run/environment.h"

namespace cccl_cache::cli {

/// The verdict of a check. A warning means that some programs get fewer hits or run slower.
enum class CheckVerdict : uint8_t { kPass, kWarning, kFailure, kSkipped };

/// The result of one check, which `doctor` prints as one line.
struct Check {
  std::string name;
  CheckVerdict verdict = CheckVerdict::kPass;
  std::string seen;
  std::string way_out = {};  ///< advice how to solve the problem; empty if there is none
};

/// The daemon's answers about itself.
struct DaemonAnswers {
  bool serving = false;
  DaemonInfo info = {};
  Expected<ToolchainList> toolchains = ToolchainList{};
  Statistics stats = {};
};

/// The state that the checks share, so that each request is sent to the daemon only once.
struct Patient {
  std::string given_socket;     ///< value of --socket; empty if it was not given
  uint32_t driver_version = 0;  ///< as from cuDriverGetVersion(); 0 if there is no driver
  Expected<Client> client = Error{CCCL_CACHE_NO_DAEMON, "not opened"};
  Expected<DaemonAnswers> daemon = Error{CCCL_CACHE_NO_DAEMON, "not asked"};
};

/// Opens `patient->client`, and checks whether its socket accepts a connection.
[[nodiscard]] Check CheckSocket(Patient* patient);
/// Returns the result for an attempt to connect to the socket. `error` is the errno, or 0 on
/// success. `origin` tells what selected the socket, for example "--socket".
[[nodiscard]] Check JudgeSocket(const std::string& path, const std::string& origin, int error);
/// Asks the daemon about itself and fills `patient->daemon`. If `connects` is false, the daemon's
/// socket accepts no connections, and the check is skipped.
[[nodiscard]] Check CheckDaemon(Patient* patient, bool connects);

// If the daemon did not answer, the checks below that need an answer are skipped.
[[nodiscard]] Check CheckToolchains(const Patient& patient);
/// Compiles a new program twice through the daemon. The second result must be a hit.
[[nodiscard]] Check CheckBuild(Patient* patient);
/// Must be called after CheckBuild(), so that the daemon has written the test build to its store.
[[nodiscard]] Check CheckStore(Patient* patient);

/// Checks the Redis server that several nodes share: the connection, the difference between its
/// clock and this node's, and the keys. Checks the shelves (directories of snapshots) too. Skips
/// what is not configured. Sends no requests, but uses the statistics that CheckStore() has stored,
/// so it must be called after that.
[[nodiscard]] std::vector<Check> RemoteChecks(const Patient& patient);

/// Warns if a compiler's file or this program was changed later than `now`, which suggests that
/// this machine's clock is wrong.
[[nodiscard]] Check CheckClock(const Patient& patient, time_t now);
/// Warns if this process may open too few files. `open_files` is its limit; 0 means unlimited.
[[nodiscard]] Check CheckLimits(const Patient& patient, uint64_t open_files);
[[nodiscard]] uint64_t OpenFileLimit();

/// The kernel features that the daemon uses to sandbox compilers.
struct KernelFeatures {
  int landlock = 0;  ///< version of the Landlock ABI; 0 if the kernel has no Landlock
  bool seccomp = false;

  [[nodiscard]] static KernelFeatures OfThisProcess();
};
[[nodiscard]] Check CheckKernel(const KernelFeatures& features);
[[nodiscard]] Check CheckDriver(const Patient& patient);
[[nodiscard]] Check CheckRun();
/// Checks the Python installation and its cccl_cache package by running Python. If a wheel has
/// installed this program, whose path is `program`, that wheel's Python is used. Otherwise it is
/// the first python3 in `path`, a list of directories as in $PATH. Python must end within
/// `patience`.
[[nodiscard]] Check CheckPython(const std::string& program, const std::string& path,
                                std::chrono::milliseconds patience);

/// The output and the end of a program that a check has run.
struct Ended {
  std::string output;    ///< at most about the first 16 KiB
  int status = SIGKILL;  ///< as from waitpid(); SIGKILL if the program exceeded its time limit
};

/// Runs a program in the directory / and returns its result. `variables` are added to this
/// process's environment. After `patience`, the program and all its children are killed. `kept` is
/// the descriptor whose output is returned: STDOUT_FILENO or STDERR_FILENO. The other output is
/// discarded.
[[nodiscard]] Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
                        std::chrono::milliseconds patience);

/// Describes a status from waitpid(), for example as "crashed (signal 11)".
[[nodiscard]] std::string HowItEnded(int status);

/// Returns the results as human-readable text, wrapped at 100 columns, or as the JSON object for
/// --json.
[[nodiscard]] std::string ChecksText(const std::vector<Check>& checks, bool coloured);
[[nodiscard]] std::string ChecksJson(const std::vector<Check>& checks);

}  // namespace cccl_cache::cli
