// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/interpose/real_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/cancellation.h"
#include "client/interpose/real_mark.h"

// The auditor writes the path before the program's code can call the stand-in.
extern "C" __attribute__((visibility("default"))) char cccl_cache_standin_real[PATH_MAX];
char cccl_cache_standin_real[PATH_MAX];

// Returns the path to the plug-ins of the Python package
// (client/python/cccl_cache/_plugin/loaded.py).
extern "C" __attribute__((visibility("default"))) const char* cccl_cache_standin_real_path() {
  const cccl_cache::CancellationDisabled guard;
  return cccl_cache::interpose::RealPath().c_str();
}

namespace cccl_cache::interpose {
namespace {

namespace fs = std::filesystem;

/// Makes a value once and never frees it, because exit handlers may call the stand-in after static
/// objects are gone. Uses no lock, which a fork could leave held. If two threads make the value at
/// the same time, one is dropped.
template <typename T, typename Make>
const T& MadeOnce(std::atomic<const T*>* kept, Make make) {
  if (const T* known = kept->load()) return *known;
  const T* made = new T(make());
  const T* first = nullptr;
  if (kept->compare_exchange_strong(first, made)) return *made;
  delete made;
  return *first;
}

/// Returns the directories in which the loader looks for the libraries of a loaded object.
std::vector<std::string> DirectoriesOf(const std::string& object) {
  std::vector<std::string> directories;
  void* const handle =
      dlopen(object.empty() ? nullptr : object.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  Dl_serinfo size = {};
  if (handle != nullptr && dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const list = reinterpret_cast<Dl_serinfo*>(memory.data());
    *list = size;
    const bool told = dlinfo(handle, RTLD_DI_SERINFO, list) == 0;
    for (unsigned i = 0; told && i < list->dls_cnt; ++i) {
      directories.emplace_back(list->dls_serpath[i].dls_name);
    }
  }
  if (handle != nullptr) dlclose(handle);
  return directories;
}

/// Returns the path of an opened library, and closes it; "" if it is null.
std::string PathOf(void* library) {
  link_map* map = nullptr;
  std::string path;
  if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) path = map->l_name;
  if (library != nullptr) dlclose(library);
  return path;
}

/// Returns the file that the loader would find under this name for an object of the process if this
/// stand-in, at `own`, were not preloaded.
std::string Search(const std::string& name, const fs::path& own) {
  std::vector<std::string> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* found) {
        static_cast<std::vector<std::string>*>(found)->emplace_back(info->dlpi_name);
        return 0;
      },
      &objects);
  std::error_code error;
  const auto usable = [&](const std::string& path) {
    return fs::exists(path, error) && !fs::equivalent(path, own, error);
  };
  for (const std::string& object : objects) {
    if (object.ends_with("/" + name) && usable(object)) return object;
  }
  for (const std::string& object : objects) {
    for (const std::string& directory : DirectoriesOf(object)) {
      if (std::string path = directory + "/" + name; usable(path)) return path;
    }
  }
  // Asks the loader in a new namespace, which has no preloaded stand-in, because only the loader's
  // cache is left to search.
  return PathOf(dlmopen(LM_ID_NEWLM, name.c_str(), RTLD_LAZY | RTLD_LOCAL));
}

std::string FindRealPath() {
  if (cccl_cache_standin_real[0] != '\0') return cccl_cache_standin_real;
  Dl_info own = {};
  if (dladdr(&cccl_cache_standin_real, &own) == 0) return "";
  const std::string name = fs::path(own.dli_fname).filename().string();
  // With LD_PRELOAD: `cccl-cache-cli run` lists the real files, one of which has this library's
  // name.
  const char* listed = secure_getenv("CCCL_CACHE_RUN_LIBRARIES");
  std::istringstream paths(listed == nullptr ? "" : listed);
  for (std::string path; std::getline(paths, path, ':');) {
    if (path.find("/" + name) != path.npos) return path;
  }
  // A program has removed the list, or a part of it, from the environment.
  std::error_code error;
  return fs::canonical(Search(name, own.dli_fname), error).string();
}

/// Returns the file that the loader uses for this name in preference to one beside the library that
/// needs it; "" if there is none.
std::string FoundBefore(const std::string& name) {
  if (std::string loaded = PathOf(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD));
      !loaded.empty()) {
    return loaded;
  }
  const char* directories = secure_getenv("LD_LIBRARY_PATH");
  std::string list = directories == nullptr ? "" : directories;
  std::ranges::replace(list, ';', ':');
  std::istringstream parts(list);
  std::error_code error;
  for (std::string directory; std::getline(parts, directory, ':');) {
    // An empty part means the working directory.
    const fs::path path = fs::path(directory.empty() ? "." : directory) / name;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

/// The real library, and its file's state when it was opened.
struct Opened {
  void* library;
  struct stat file;
};

bool IsSame(const struct stat& file, const struct stat& other) {
  const auto same_time = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  return file.st_dev == other.st_dev && file.st_ino == other.st_ino &&
         file.st_size == other.st_size && same_time(file.st_mtim, other.st_mtim) &&
         same_time(file.st_ctim, other.st_ctim);
}

std::optional<Opened> Open() {
  Opened opened = {};
  if (RealPath().empty() || stat(RealPath().c_str(), &opened.file) != 0) return std::nullopt;
  // The loader has the stand-in under the path that the program used, so this path needs a mark.
  std::string spelled = RealPath();
  spelled.insert(spelled.rfind('/'), kRealMark);
  opened.library = dlopen(spelled.c_str(), RTLD_NOW | RTLD_LOCAL);
  // Forwarding to the stand-in itself would not end.
  if (opened.library == nullptr || dlsym(opened.library, "cccl_cache_standin_real") != nullptr) {
    return std::nullopt;
  }
  return opened;
}

/// Returns null if the library can't be opened.
const Opened* TheOpened() {
  static std::atomic<const Opened*> kept{nullptr};
  if (const Opened* known = kept) return known;
  // If two threads open it at the same time, both get the same handle.
  const std::optional<Opened> opened = Open();
  return opened ? &MadeOnce(&kept, [&] { return *opened; }) : nullptr;
}

// With the auditor, the program would have opened the real library at this point. A preloaded
// stand-in is in every process, and few processes need the real library, so it waits.
__attribute__((constructor)) void OpenAsTheProgramWould() {
  const cccl_cache::CancellationDisabled guard;
  if (cccl_cache_standin_real[0] != '\0') TheOpened();
}

}  // namespace

const std::string& RealPath() {
  static std::atomic<const std::string*> path{nullptr};
  return MadeOnce(&path, FindRealPath);
}

const Component& RealComponent() {
  static std::atomic<const Component*> component{nullptr};
  return MadeOnce(&component, [] { return ComponentOf(RealPath()); });
}

bool OpenWithOwnBuiltins() {
  static std::atomic<const bool*> own{nullptr};
  return MadeOnce(&own, [] {
    TheOpened();
    const fs::path builtins = RealComponent().builtins;
    const std::string first = builtins.empty() ? "" : FoundBefore(builtins.filename());
    std::error_code error;
    const bool same = first.empty() || fs::equivalent(first, builtins, error) ||
                      DigestOfFile(first) == DigestOfFile(builtins.string());
    // Release 13.0 does not look for its builtins in its own directory.
    if (!builtins.empty()) {
      dlopen(first.empty() ? builtins.c_str() : first.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    return same;
  });
}

bool RealFileWasReplaced() {
  const Opened* const opened = TheOpened();
  struct stat now {};
  return opened != nullptr && (stat(RealPath().c_str(), &now) != 0 || !IsSame(now, opened->file));
}

void* RealSymbol(const char* name) {
  const Opened* const opened = TheOpened();
  return opened == nullptr ? nullptr : dlsym(opened->library, name);
}

}  // namespace cccl_cache::interpose
