// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/doctor/check.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLoaderPatience{5};

// Constants of the kernel. They are copied because the C library's headers may be older than it.
constexpr long kLandlockCreateRuleset = 444;
constexpr uint32_t kLandlockVersion = 1;
constexpr unsigned kSeccompActionAvailable = 2;
constexpr uint32_t kSeccompKillProcess = 0x80000000;

/// Returns the time of the file's last change (contents or metadata), or 0 if it is unknown.
time_t ChangedAt(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return 0;
  return std::max(status.st_mtime, status.st_ctime);
}

std::string UtcText(time_t time) {
  return UtcTime(static_cast<uint64_t>(time), "%Y-%m-%d %H:%M:%S UTC");
}

/// Returns the daemon's toolchains; none if they are unknown.
std::vector<Toolchain> ToolchainsOf(const Patient& patient) {
  const bool known = patient.daemon.ok() && patient.daemon->toolchains.ok();
  return known ? patient.daemon->toolchains->toolchains : std::vector<Toolchain>();
}

/// Returns the major version: 13 for "13.0".
unsigned MajorOf(const std::string& version) {
  return static_cast<unsigned>(std::strtoul(version.c_str(), nullptr, 10));
}

}  // namespace

Check CheckClock(const Patient& patient, time_t now) {
  constexpr time_t kSkew = 5;  // in seconds; the clocks of file servers may differ by this much
  const std::string own = "/proc/self/exe";
  std::vector<std::string> files = {own};
  for (const Toolchain& each : ToolchainsOf(patient)) {
    for (const ToolchainComponent& part : each.components) files.push_back(part.path);
  }
  for (const std::string& file : files) {
    const time_t changed = ChangedAt(file);
    if (changed <= now + kSkew) continue;
    return {"clock", CheckVerdict::kWarning,
            UtcText(now) + "; but " + (file == own ? "this program" : file) +
                " was changed later, at " + UtcText(changed),
            std::string("set the clock (timedatectl set-ntp true)") +
                (file == own ? "" : ", or touch the file if the clock is right")};
  }
  return {"clock", CheckVerdict::kPass, UtcText(now) + ", no compiler's file is newer"};
}

uint64_t OpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return limit.rlim_cur;
}

Check CheckLimits(const Patient& patient, uint64_t open_files) {
  constexpr uint64_t kFewFiles = 64;  // a program needs more than the client's few descriptors
  Check check{"limits"};
  check.seen = "open files here: " + (open_files == 0 ? "any" : Count(open_files));
  if (patient.daemon.ok()) {
    std::map<std::string, uint64_t> limits = patient.daemon->info.limits;
    check.seen += "; a compile: " + Bytes(limits["worker_bytes"]) + ", " +
                  Duration(limits["build_seconds"]) + "; queue: " + Count(limits["queued"]);
  }
  if (open_files != 0 && open_files < kFewFiles) {
    check.verdict = CheckVerdict::kWarning;
    check.way_out = "ulimit -n 1024, or LimitNOFILE= in the unit of the program";
  }
  return check;
}

KernelFeatures KernelFeatures::OfThisProcess() {
  const long abi = syscall(kLandlockCreateRuleset, nullptr, 0, kLandlockVersion);
  const bool seccomp = syscall(SYS_seccomp, kSeccompActionAvailable, 0, &kSeccompKillProcess) == 0;
  return {static_cast<int>(std::max(abi, 0L)), seccomp};
}

Check CheckKernel(const KernelFeatures& features) {
  const std::string landlock = features.landlock > 0
                                   ? "Landlock ABI " + std::to_string(features.landlock)
                                   : "no Landlock (the daemon reads headers for its compilers)";
  if (features.seccomp) return {"kernel", CheckVerdict::kPass, "seccomp, " + landlock};
  return {"kernel", CheckVerdict::kWarning,
          "no seccomp: the daemon compiles for its own user alone; " + landlock,
          "use a kernel with seccomp filters, or a container whose profile allows them"};
}

Check CheckDriver(const Patient& patient) {
  constexpr uint32_t kMajor = 1000;
  constexpr uint32_t kMinor = 10;
  Check check{"driver"};
  if (patient.driver_version == 0) {
    check.seen = "none: fine where nothing runs on a GPU";
    return check;
  }
  const unsigned major = patient.driver_version / kMajor;
  check.seen = "of CUDA " + std::to_string(major) + "." +
               std::to_string(patient.driver_version % kMajor / kMinor);
  const std::vector<Toolchain> toolchains = ToolchainsOf(patient);
  // The default toolchain is the one that the daemon has chosen for this driver.
  const auto chosen = std::ranges::find(toolchains, true, &Toolchain::selected_by_default);
  if (chosen == toolchains.end()) return check;
  const auto loads = [major](const Toolchain& each) { return MajorOf(each.version) <= major; };
  if (loads(*chosen)) {
    check.seen += "; it loads the cubins of toolchain " + chosen->version;
    return check;
  }
  check.verdict = CheckVerdict::kWarning;
  check.seen += "; it can't load the cubins of toolchain " + chosen->version;
  const auto other = std::ranges::find_if(toolchains, loads);
  check.way_out =
      "update the driver, or " +
      (other == toolchains.end() ? "install a toolchain of CUDA " + std::to_string(major)
                                 : "use --toolchain " + std::to_string(MajorOf(other->version)));
  return check;
}

Check CheckRun() {
  const Expected<Variables> variables = RunEnvironment(How::kBest, std::nullopt, "");
  if (!variables.ok()) {
    return {"run", CheckVerdict::kWarning, variables.error().message,
            "follow this advice: until then run starts no program"};
  }
  if (variables->empty()) {
    return {"run", CheckVerdict::kPass, "this process is under it already (LD_PRELOAD)"};
  }
  // The first library in LD_PRELOAD is a stand-in. The others were in the variable before.
  const std::string& libraries = variables->front().second;
  const std::string first = libraries.substr(0, libraries.find(':'));
  const fs::path standins = first.substr(0, first.rfind('/'));
  std::error_code error;
  const fs::path real = fs::read_symlink(standins, error);
  Check check{"run", CheckVerdict::kPass, "stand-ins in " + (error ? standins : real).string()};
  if (!error) {
    check.seen += ", whose name the loader would split: by the link " + standins.string();
  }
  for (const char* name : {"LD_AUDIT", "LD_PRELOAD"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') check.seen += "; " + std::string(name) + " is set";
  }
  const Ended ended = Try({"/bin/true"}, *variables, STDERR_FILENO, kLoaderPatience);
  if (ended.output.empty() && ended.status == 0) return check;
  check.verdict = CheckVerdict::kWarning;
  check.seen += "; a program under it ";
  if (ended.output.empty()) {
    check.seen += HowItEnded(ended.status);
    check.way_out =
        "take the other libraries out of LD_PRELOAD and LD_AUDIT one by one, or run programs with "
        "--how preload";
    return check;
  }
  check.seen += "says: " + ended.output.substr(0, ended.output.find('\n'));
  check.way_out =
      "take what that names out of LD_PRELOAD or LD_AUDIT; or for a larger static TLS block: "
      "export "
      "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1000000";
  return check;
}

}  // namespace cccl_cache::cli
