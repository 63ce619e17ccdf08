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

// The path of the real library. The auditor writes it before the program can call the stand-in.
// Empty if the stand-in was preloaded (LD_PRELOAD) without the auditor.
extern "C" __attribute__((visibility("default"))) char cccl_cache_standin_real[PATH_MAX];
char cccl_cache_standin_real[PATH_MAX];

// Returns RealPath() to Python code: plug-ins of the package call it through
// client/python/cccl_cache/_plugin/loaded.py.
extern "C" __attribute__((visibility("default"))) const char* cccl_cache_standin_real_path() {
  const cccl_cache::CancellationDisabled guard;
  return cccl_cache::interpose::RealPath().c_str();
}

namespace cccl_cache::interpose {
namespace {

namespace fs = std::filesystem;

/// Returns the value that the first call made with `make`. The value is never freed, because exit
/// handlers may call the stand-in after static objects were destroyed. Uses no lock, because a fork
/// could leave a lock locked in the child. If two threads make a value at the same time, one of
/// them is deleted.
template <typename T, typename Make>
const T& MadeOnce(std::atomic<const T*>* kept, Make make) {
  if (const T* known = kept->load()) return *known;
  const T* made = new T(make());
  const T* first = nullptr;
  if (kept->compare_exchange_strong(first, made)) return *made;
  delete made;
  return *first;
}

/// Returns the directories in which the dynamic loader searches for libraries that the object
/// needs. `object` is the path of a loaded library, or empty for the program itself.
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

/// Returns the path of a library that dlopen() returned, and closes the library. Returns "" for
/// null.
std::string PathOf(void* library) {
  link_map* map = nullptr;
  std::string path;
  if (library != nullptr && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) path = map->l_name;
  if (library != nullptr) dlclose(library);
  return path;
}

/// Returns the file that the dynamic loader would find under `name` if this stand-in, whose path is
/// `own`, were not preloaded. Considers the search paths of all objects of the process.
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
  // The files that remain are those in the loader's cache. The loader searches it in a new
  // namespace, because there the preloaded stand-in is not loaded.
  return PathOf(dlmopen(LM_ID_NEWLM, name.c_str(), RTLD_LAZY | RTLD_LOCAL));
}

std::string FindRealPath() {
  if (cccl_cache_standin_real[0] != '\0') return cccl_cache_standin_real;
  Dl_info own = {};
  if (dladdr(&cccl_cache_standin_real, &own) == 0) return "";
  const std::string name = fs::path(own.dli_fname).filename().string();
  // The stand-in was preloaded. `cccl-cache-cli run` puts the paths of the real files into this
  // variable, and the file with this library's name is the real one.
  const char* listed = secure_getenv("CCCL_CACHE_RUN_LIBRARIES");
  std::istringstream paths(listed == nullptr ? "" : listed);
  for (std::string path; std::getline(paths, path, ':');) {
    if (path.find("/" + name) != path.npos) return path;
  }
  // The variable has no such path, because a program has changed or removed it. So search for the
  // file.
  std::error_code error;
  return fs::canonical(Search(name, own.dli_fname), error).string();
}

/// Returns the file that the loader would use for the library `name` although there is one beside
/// the library that needs it: a loaded one, or one in LD_LIBRARY_PATH. Returns "" if there is none.
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
    // An empty element of LD_LIBRARY_PATH means the working directory.
    const fs::path path = fs::path(directory.empty() ? "." : directory) / name;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

/// The real library's handle, and the state of its file when it was opened.
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
  // The loader knows the stand-in by the path that the program used. A mark in the path makes the
  // loader open the real file instead.
  std::string spelled = RealPath();
  spelled.insert(spelled.rfind('/'), kRealMark);
  opened.library = dlopen(spelled.c_str(), RTLD_NOW | RTLD_LOCAL);
  // If the path leads to the stand-in itself, calls would be forwarded to it again without end.
  if (opened.library == nullptr || dlsym(opened.library, "cccl_cache_standin_real") != nullptr) {
    return std::nullopt;
  }
  return opened;
}

/// Opens the real library at the first call. Returns null if it can't be opened.
const Opened* TheOpened() {
  static std::atomic<const Opened*> kept{nullptr};
  if (const Opened* known = kept) return known;
  // Two threads may open the library at the same time. dlopen() returns the same handle to both.
  const std::optional<Opened> opened = Open();
  return opened ? &MadeOnce(&kept, [&] { return *opened; }) : nullptr;
}

// If the auditor loaded the stand-in, opens the real library now, when the program would have
// loaded it. A preloaded stand-in is in every process, and few processes need the real library, so
// there it is opened later.
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
    // NVRTC 13.0 does not search its own directory for its builtins, so they are opened here.
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
