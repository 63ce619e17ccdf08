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

/// The result of a check of `doctor`. A warning means that some programs lose hits or time.
enum class CheckVerdict : uint8_t { kPass, kWarning, kFailure, kSkipped };

/// One line of `doctor`.
struct Check {
  std::string name;
  CheckVerdict verdict = CheckVerdict::kPass;
  std::string seen;
  std::string way_out = {};  ///< remedy; empty if the check passed or was skipped
};

/// The daemon's answers about itself.
struct DaemonAnswers {
  bool serving = false;
  DaemonInfo info = {};
  Expected<ToolchainList> toolchains = ToolchainList{};
  Statistics stats = {};
};

/// The daemon's answers, shared by the checks so that each query is sent once.
struct Patient {
  std::string given_socket;     ///< --socket; empty: not given
  uint32_t driver_version = 0;  ///< as cuDriverGetVersion returns it; 0: no driver
  Expected<Client> client = Error{CCCL_CACHE_NO_DAEMON, "not opened"};
  Expected<DaemonAnswers> daemon = Error{CCCL_CACHE_NO_DAEMON, "not asked"};
};

/// Opens the client and checks its socket.
[[nodiscard]] Check CheckSocket(Patient* patient);
/// Returns the check for the errno of connecting to a socket; 0: connected. `origin`: "--socket".
[[nodiscard]] Check JudgeSocket(const std::string& path, const std::string& origin, int error);
/// Fills `patient->daemon`. `connects`: whether the daemon's socket accepts connections.
[[nodiscard]] Check CheckDaemon(Patient* patient, bool connects);

// Checks about the daemon are skipped if it did not answer.
[[nodiscard]] Check CheckToolchains(const Patient& patient);
/// Builds a new program twice.
[[nodiscard]] Check CheckBuild(Patient* patient);
/// To be called after CheckBuild, whose builds are written to the store.
[[nodiscard]] Check CheckStore(Patient* patient);

/// Checks the Redis that nodes share: its connection, its clock against this node's, and the keys.
/// Returns none if no Redis is configured. Sends no query; to be called after CheckStore.
[[nodiscard]] std::vector<Check> RemoteChecks(const Patient& patient);

/// Compares the times of the compilers' files and of this program with `now`.
[[nodiscard]] Check CheckClock(const Patient& patient, time_t now);
/// `open_files`: limit of this process's open files; 0: unlimited.
[[nodiscard]] Check CheckLimits(const Patient& patient, uint64_t open_files);
[[nodiscard]] uint64_t OpenFileLimit();

/// The features of the kernel with which the daemon confines compilers.
struct KernelFeatures {
  int landlock = 0;  ///< ABI; 0: none
  bool seccomp = false;

  [[nodiscard]] static KernelFeatures OfThisProcess();
};
[[nodiscard]] Check CheckKernel(const KernelFeatures& features);
[[nodiscard]] Check CheckDriver(const Patient& patient);
[[nodiscard]] Check CheckRun();
/// Runs Python: the one whose wheel installed `program` (the path of this one), else the first
/// python3 of `path` (a list as in $PATH). It must end within `patience`.
[[nodiscard]] Check CheckPython(const std::string& program, const std::string& path,
                                std::chrono::milliseconds patience);

/// The result of a program that a check started.
struct Ended {
  std::string output;    ///< the first 16 KiB
  int status = SIGKILL;  ///< as from waitpid; SIGKILL: it was killed after the time limit
};

/// Runs a program in / with these variables added to this process's, and kills it with all its
/// children after the time limit. `kept`: the returned output, standard output or error; the other
/// one is discarded.
[[nodiscard]] Ended Try(const std::vector<std::string>& words, const Variables& variables, int kept,
                        std::chrono::milliseconds patience);

/// Returns the end in words, as "crashed (signal 11)".
[[nodiscard]] std::string HowItEnded(int status);

/// Returns the text for people, wrapped at 100 columns, or the object for --json.
[[nodiscard]] std::string ChecksText(const std::vector<Check>& checks, bool coloured);
[[nodiscard]] std::string ChecksJson(const std::vector<Check>& checks);

}  // namespace cccl_cache::cli
