// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "cli/doctor/check.h"

namespace cccl_cache::cli {
namespace {

/// A Python script that prints one line for each thing it finds: kind, name and version. The import
/// of cccl_cache comes last, so a missing line "end" means that the import has ended Python. The
/// script runs without the option -I, which would hide packages of `pip install --user` and
/// PYTHONPATH. It runs in the directory /, so that it imports no file of the working directory.
constexpr const char* kScript = R"(
import os, sys
if sys.path[:1] == [""]: del sys.path[0]
print("python", "python", ".".join(map(str, sys.version_info[:3])), flush=True)
for name in ["apache-tvm-ffi", "cuda-cccl", "cuda-core", "cupy", "cupy-cuda11x", "cupy-cuda12x",
             "cupy-cuda13x", "flashinfer-python", "jax", "numba-cuda", "numba-cuda-mlir",
             "nvidia-cutlass-dsl", "tilelang", "torch", "triton", "warp-lang"]:
    try:
        from importlib import metadata
        print("package", name, metadata.version(name), flush=True)
    except Exception:
        pass
try:
    import cccl_cache
    print("client", "cccl_cache", cccl_cache.__version__, flush=True)
except BaseException as error:
    if getattr(error, "name", None) != "cccl_cache" or not isinstance(error, ModuleNotFoundError):
        print("broken", type(error).__name__, ascii(str(error))[1:-1][:300], flush=True)
print("end", flush=True)
)";

/// Returns the path of the first program with this name in `path`, a list of directories as in
/// $PATH. Returns "" if there is none. Relative directories are skipped: programs are run in
/// another working directory.
std::string Find(const std::string& name, const std::string& path) {
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string program = directory + "/" + name;
    if (directory.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
  }
  return "";
}

/// Returns the Python whose wheel installed this program, if `program` is in
/// PREFIX/lib/python3.X/site-packages/cccl_cache. Otherwise returns the first python3 in `path`.
std::string FindPython(const std::string& program, const std::string& path) {
  const std::filesystem::path library =
      std::filesystem::path(program).parent_path().parent_path().parent_path();
  const std::string name = library.filename().string();
  if (name.starts_with("python3.")) {
    const std::string prefix = library.parent_path().parent_path().string();
    const std::string own = Find(name, prefix + "/bin:" + path);
    if (!own.empty()) return own;
  }
  return Find("python3", path);
}

struct FoundInPython {
  std::string version;  ///< version of Python; empty if Python did not answer
  std::string client;   ///< version of the package cccl_cache; empty if it is not installed
  std::string broken;   ///< error of importing cccl_cache; empty if there was none
  std::string packages;
  bool end = false;
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
    if (what == "end") found.end = true;
    if (what == "client") found.client = rest;
    if (what == "broken") found.broken.append(name).append(": ").append(rest);
    if (what != "package") continue;
    found.packages.append(found.packages.empty() ? "" : ", ").append(name).append(" ").append(rest);
  }
  return found;
}

// A test compares the words and the variables with those of the package.
constexpr std::array<std::string_view, 5> kOff = {"", "0", "false", "no", "off"};

bool IsOff(std::string value) {
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::find(kOff, value) != kOff.end();
}

/// Returns the name of a set environment variable that enables the package's plug-ins, or null.
const char* FindPlugInVariable() {
  for (const char* name : {"CCCL_CACHE", "CCCL_CACHE_COMPUTE", "CCCL_CACHE_CUPY", "CCCL_CACHE_CUTE",
                           "CCCL_CACHE_FLASHINFER", "CCCL_CACHE_JAX", "CCCL_CACHE_NUMBA",
                           "CCCL_CACHE_NUMBA_MLIR", "CCCL_CACHE_TILELANG", "CCCL_CACHE_TORCH",
                           "CCCL_CACHE_TRITON", "CCCL_CACHE_TVM_FFI", "CCCL_CACHE_WARP"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && !IsOff(value)) return name;
  }
  return nullptr;
}

}  // namespace

Check CheckPython(const std::string& program, const std::string& path,
                  std::chrono::milliseconds patience) {
  Check check{"python"};
  const std::string python = FindPython(program, path);
  if (python.empty()) {
    check.seen = "no python3 in PATH";
    return check;
  }
  const Ended ended = Try({python, "-c", kScript}, {}, STDOUT_FILENO, patience);
  const FoundInPython found = Parse(ended.output);
  check.seen = python + " " + found.version;
  if (found.version.empty() || !found.end) {
    // If not even the version was printed, the program is no python3 or a slow one: a warning. If
    // Python ended during the import, programs that import the package end too: a failure.
    const bool breaks = !found.version.empty() && ended.status != SIGKILL;
    check.verdict = breaks ? CheckVerdict::kFailure : CheckVerdict::kWarning;
    check.seen +=
        (found.version.empty() ? "" : ": importing cccl_cache ") + HowItEnded(ended.status);
    check.way_out = "try " + python + " -c 'import cccl_cache'";
    return check;
  }
  check.seen += ": ";
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
  const char* variable = FindPlugInVariable();
  const bool plugs_in = variable != nullptr && !found.client.empty();
  if (found.packages.empty() || plugs_in || IsUnderRun()) return check;
  check.verdict = CheckVerdict::kWarning;
  check.seen += variable == nullptr
                    ? "; CCCL_CACHE is not set"
                    : "; " + std::string(variable) + " is set, but this python3 has no cccl_cache";
  check.way_out = found.client.empty()
                      ? "cccl-cache-cli run -- python3 ..., or install the wheel of cccl_cache and "
                        "export CCCL_CACHE=1"
                      : "export CCCL_CACHE=1, or start programs with cccl-cache-cli run";
  return check;
}

}  // namespace cccl_cache::cli
