// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cccl_cache/client.h"

namespace cccl_cache::cli {

/// The result of a check of `doctor`. A warning means that some programs lose hits or time.
enum class CheckVerdict : uint8_t { kPass, kWarning, kFailure, kSkipped };

/// One line of `doctor`.
struct Check {
  std::string name;
  CheckVerdict verdict = CheckVerdict::kPass;
  std::string seen;
  std::string way_out = {};  ///< empty if it passed or was skipped
};

struct ListedToolchain {
  std::string version;
  bool is_default = false;
  std::string architecture = {};        ///< one that its NVRTC accepts; empty: not known
  std::vector<std::string> files = {};  ///< of its compilers
};

/// The daemon's answers about itself.
struct DaemonAnswers {
  bool serving = false;
  std::string version;
  std::string problem;  ///< empty: none
  uint32_t uid = 0;
  uint64_t worker_bytes = 0;
  uint64_t build_seconds = 0;
  uint64_t queued = 0;
  std::vector<ListedToolchain> toolchains;
  std::vector<std::pair<std::string, std::string>> rejected;  ///< root, reason
  std::string toolchains_error;  ///< why they are not known; empty: they are
  std::map<std::string, double> statistics;
  std::string remote_address;  ///< of Redis; empty: none is configured
  std::string remote_problem;  ///< why a node is not connected, with the way out; empty: all are

  /// Returns a statistic; 0: there is none of that name.
  [[nodiscard]] double ValueOf(const char* name) const {
    const auto found = statistics.find(name);
    return found == statistics.end() ? 0 : found->second;
  }
};

/// State that the checks share, so that the daemon is asked each question once.
struct Patient {
  std::string given_socket;     ///< --socket; empty: not given
  uint32_t driver_version = 0;  ///< as cuDriverGetVersion has it; 0: no driver
  Expected<Client> client = Error{CCCL_CACHE_NO_DAEMON, "not opened"};
  Expected<DaemonAnswers> daemon = Error{CCCL_CACHE_NO_DAEMON, "not asked"};
};

/// Opens the client and looks at its socket.
[[nodiscard]] Check CheckSocket(Patient* patient);
/// Judges a socket by the error of connecting to it; 0: none. `origin`: "--socket".
[[nodiscard]] Check JudgeSocket(const std::string& path, const std::string& origin, int error);
/// Fills `patient->daemon`. `connects`: whether the daemon's socket does.
[[nodiscard]] Check CheckDaemon(Patient* patient, bool connects);

// Those about the daemon are skipped if it did not answer.
[[nodiscard]] Check CheckToolchains(const Patient& patient);
/// Builds a new program twice.
[[nodiscard]] Check CheckBuild(Patient* patient);
/// After CheckBuild: the store was written to then.
[[nodiscard]] Check CheckStore(Patient* patient);

/// The Redis that nodes share: its connection, its clock beside this node's, and the keys. None if
/// no Redis is configured. Asks nothing: after CheckStore.
[[nodiscard]] std::vector<Check> RemoteChecks(const Patient& patient);

/// Compares the times of the compilers' files, and of this program's, with `now`.
[[nodiscard]] Check CheckClock(const Patient& patient, time_t now);
/// `open_files`: how many this process may have; 0: any number.
[[nodiscard]] Check CheckLimits(const Patient& patient, uint64_t open_files);
[[nodiscard]] uint64_t OpenFileLimit();

/// The features of the kernel that the daemon confines compilers with.
struct KernelFeatures {
  int landlock = 0;  ///< ABI; 0: none
  bool seccomp = false;

  [[nodiscard]] static KernelFeatures OfThisProcess();
};
[[nodiscard]] Check CheckKernel(const KernelFeatures& features);
[[nodiscard]] Check CheckDriver(const Patient& patient);
[[nodiscard]] Check CheckRun();
/// Runs the Python that `program`, the path of this one, was installed for by a wheel, else the
/// first python3 of `path` (as $PATH is). It must answer within `patience`.
[[nodiscard]] Check CheckPython(const std::string& program, const std::string& path,
                                std::chrono::milliseconds patience);

/// The lines for people, at most 100 columns wide as far as words allow, and the object of --json.
[[nodiscard]] std::string ChecksText(const std::vector<Check>& checks, bool coloured);
[[nodiscard]] std::string ChecksJson(const std::vector<Check>& checks);

}  // namespace cccl_cache::cli
