// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/real_library.h"

#include <dlfcn.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "client/src/calls/file_digest.h"

// The auditor writes the path before any of the program's code can call the stand-in.
extern "C" __attribute__((visibility("default"))) char cccl_cache_standin_real[PATH_MAX];
char cccl_cache_standin_real[PATH_MAX];

// Tells it to the plug-ins of the Python package (client/python/cccl_cache/_plugin/loaded.py).
extern "C" __attribute__((visibility("default"))) const char* cccl_cache_standin_real_path() {
  return cccl_cache::interpose::RealPath().c_str();
}

namespace cccl_cache::interpose {
namespace {

namespace fs = std::filesystem;

/// Makes a value once and keeps it for ever: exit handlers may call the stand-in after its static
/// objects are gone. Without a lock, which a fork could leave held; of two threads that make the
/// value at one moment, one throws its own away.
template <typename T, typename Make>
const T& MadeOnce(std::atomic<const T*>* kept, Make make) {
  if (const T* known = kept->load()) return *known;
  const T* made = new T(make());
  const T* first = nullptr;
  if (kept->compare_exchange_strong(first, made)) return *made;
  delete made;
  return *first;
}

std::string FindRealPath() {
  if (cccl_cache_standin_real[0] != '\0') return cccl_cache_standin_real;
  // Preloaded: `cccl-cache-cli run` lists the files, of which one has this library's name.
  const char* listed = secure_getenv("CCCL_CACHE_RUN_LIBRARIES");
  Dl_info own = {};
  if (listed == nullptr || dladdr(&cccl_cache_standin_real, &own) == 0) return "";
  const std::string name = "/" + fs::path(own.dli_fname).filename().string();
  std::istringstream paths(listed);
  for (std::string path; std::getline(paths, path, ':');) {
    if (path.find(name) != path.npos) return path;
  }
  return "";
}

/// Returns the path of the builtins beside the real libnvrtc; empty if there are none, or those of
/// two releases.
std::string Builtins() {
  std::error_code error;
  std::string found;
  fs::path file;
  for (fs::directory_iterator each(fs::path(RealPath()).parent_path(), error), end;
       !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with("libnvrtc-builtins.so.")) continue;
    const fs::path real = fs::canonical(each->path(), error);
    if (!file.empty() && real != file) return "";
    file = real;
    // The shortest name is that of the release; others add the number of a build.
    if (found.empty() || each->path().string().size() < found.size()) found = each->path().string();
  }
  return found;
}

void* Load() {
  if (RealPath().empty()) return nullptr;
  // Release 13.0 does not look for its builtins beside itself.
  if (const std::string builtins = Builtins(); !builtins.empty()) {
    dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  // The loader knows the stand-in under the path that the program asked for. Another spelling of
  // the path leads to the real file.
  const size_t slash = RealPath().rfind('/');
  const std::string spelled = RealPath().substr(0, slash) + "/." + RealPath().substr(slash);
  void* const library = dlopen(spelled.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  // Forwarding to the stand-in itself would not end.
  return dlsym(library, "cccl_cache_standin_real") == nullptr ? library : nullptr;
}

}  // namespace

const std::string& RealPath() {
  static std::atomic<const std::string*> path{nullptr};
  return MadeOnce(&path, FindRealPath);
}

Version RealVersion() {
  static std::atomic<const Version*> version{nullptr};
  return MadeOnce(&version, [] {
    Version found;
    const std::string name = fs::path(Builtins()).filename().string();
    std::sscanf(name.c_str(), "libnvrtc-builtins.so.%d.%d", &found.major, &found.minor);
    return found;
  });
}

bool UsesOwnBuiltins() {
  static std::atomic<const bool*> own{nullptr};
  return MadeOnce(&own, [] {
    const fs::path builtins = Builtins();
    const char* directories = secure_getenv("LD_LIBRARY_PATH");
    if (builtins.empty() || directories == nullptr) return true;
    std::istringstream list(directories);
    std::error_code error;
    for (std::string directory; std::getline(list, directory, ':');) {
      const fs::path first = fs::path(directory) / builtins.filename();
      if (!fs::exists(first, error)) continue;
      return fs::equivalent(first, builtins, error) ||
             DigestOfFile(first.string()) == DigestOfFile(builtins.string());
    }
    return true;
  });
}

void* RealSymbol(const char* name) {
  // Loading it twice at one moment gives the same handle.
  static std::atomic<void*> library{nullptr};
  if (library == nullptr) library = Load();
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace cccl_cache::interpose
