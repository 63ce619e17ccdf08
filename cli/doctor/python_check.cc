// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/file_descriptor.h"
#include "base/poll.h"
#include "cli/doctor/check.h"

namespace cccl_cache::cli {
namespace {

/// Prints a line for each thing found: what it is, its name, its version. -I would hide what `pip
/// install --user` and PYTHONPATH bring; the child runs in /, so that no file of the caller's
/// directory is imported.
constexpr const char* kScript = R"(
import os, sys
if sys.path[:1] == [""]: del sys.path[0]
print("python", "python", ".".join(map(str, sys.version_info[:3])), flush=True)
try:
    import cccl_cache
    print("client", "cccl_cache", cccl_cache.__version__, flush=True)
except BaseException as error:
    if getattr(error, "name", None) != "cccl_cache" or not isinstance(error, ModuleNotFoundError):
        print("broken", type(error).__name__, " ".join(str(error).split())[:300], flush=True)
from importlib import metadata
for name in ["cuda-cccl", "cuda-core", "cupy", "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "jax",
             "numba-cuda", "numba-cuda-mlir", "torch", "triton"]:
    try:
        print("package", name, metadata.version(name), flush=True)
    except metadata.PackageNotFoundError:
        pass
)";

constexpr size_t kMaxOutput = 16 << 10;

/// Returns the first python3 in the list of directories, or an empty string. Directories that are
/// not absolute don't count: they depend on where the caller stands.
std::string FindPython(const std::string& path) {
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string python = directory + "/python3";
    if (directory.starts_with('/') && access(python.c_str(), X_OK) == 0) return python;
  }
  return "";
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void BecomePython(const char* python, int output) {
  setpgid(0, 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  if (chdir("/") == 0) execl(python, python, "-c", kScript, nullptr);
  _exit(127);
}

/// Runs the script and ends it, with all that it started, when the time is over. Returns what it
/// printed.
std::string RunScript(const std::string& python, std::chrono::milliseconds patience) {
  std::array<int, 2> ends = {-1, -1};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  const FileDescriptor reading(ends[0]);
  FileDescriptor writing(ends[1]);
  const pid_t child = fork();
  if (child == 0) BecomePython(python.c_str(), writing.get());
  writing.Close();
  if (child < 0) return "";
  setpgid(child, child);  // here too: whichever comes first
  const auto end = std::chrono::steady_clock::now() + patience;
  std::string output;
  while (output.size() < kMaxOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !WaitReadable(reading.get(), left)) break;
    std::array<char, 4096> piece = {};
    const ssize_t size = read(reading.get(), piece.data(), piece.size());
    if (size <= 0) break;
    output.append(piece.data(), static_cast<size_t>(size));
  }
  kill(-child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return output;
}

struct FoundInPython {
  std::string version;  ///< empty: it did not answer
  std::string client;   ///< of cccl_cache; empty: not installed
  std::string broken;   ///< why it can't be imported
  std::string packages;
};

FoundInPython Parse(const std::string& output) {
  FoundInPython found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    std::string name;
    std::string rest;
    words >> what >> name >> std::ws;
    std::getline(words, rest);
    if (what == "python") found.version = rest;
    if (what == "client") found.client = rest;
    if (what == "broken") found.broken.append(name).append(": ").append(rest);
    if (what != "package") continue;
    found.packages.append(found.packages.empty() ? "" : ", ").append(name).append(" ").append(rest);
  }
  return found;
}

/// Whether programs started from here have their plug-ins on, or are served without any.
bool IsServed() {
  for (const char* name : {"CCCL_CACHE", "CCCL_CACHE_COMPUTE", "CCCL_CACHE_CUPY",
                           "CCCL_CACHE_NUMBA", "CCCL_CACHE_NUMBA_MLIR", "CCCL_CACHE_TRITON"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0' && std::string_view(value) != "0") return true;
  }
  const char* preloaded = std::getenv("LD_PRELOAD");
  return preloaded != nullptr &&
         std::string_view(preloaded).find("libcccl_cache_exec") != std::string_view::npos;
}

}  // namespace

Check CheckPython(const std::string& path, std::chrono::milliseconds patience) {
  Check check{"python"};
  const std::string python = FindPython(path);
  if (python.empty()) {
    check.seen = "no python3 in PATH";
    return check;
  }
  const FoundInPython found = Parse(RunScript(python, patience));
  check.seen = python;
  if (found.version.empty()) {
    check.verdict = CheckVerdict::kWarning;
    check.seen += " did not answer within " + std::to_string(patience.count()) + " ms";
    check.way_out = "try " + python + " -c 'import cccl_cache'";
    return check;
  }
  check.seen += " " + found.version + ": ";
  if (!found.broken.empty()) {
    check.verdict = CheckVerdict::kFailure;
    check.seen += "cccl_cache can't be imported: " + found.broken;
    check.way_out = "install its wheel again: " + python +
                    " -m pip install --force-reinstall "
                    "cccl_cache-*.whl";
    return check;
  }
  check.seen += found.client.empty() ? "no cccl_cache" : "cccl_cache " + found.client;
  check.seen += "; " + (found.packages.empty() ? "no package that it serves" : found.packages);
  if (found.packages.empty() || IsServed()) return check;
  check.verdict = CheckVerdict::kWarning;
  check.seen += "; CCCL_CACHE is not set";
  check.way_out = found.client.empty()
                      ? "cccl-cache-cli run -- python3 ..., or install the wheel of cccl_cache and "
                        "export CCCL_CACHE=1"
                      : "export CCCL_CACHE=1, or start programs with cccl-cache-cli run";
  return check;
}

}  // namespace cccl_cache::cli
