// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/core/model/result.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The digests of a toolchain's headers: of each file and of each directory with all its contents.
/// A place identifies a file or directory: the number of a header directory, and the path below it,
/// as in "0/cub/cub.cuh". A header directory that is inside another one has a place in the other
/// one, such as "0/cccl". Immutable.
class ToolchainHeaders {
 public:
  struct File {
    std::string place;
    Digest contents;
    std::pair<uint64_t, uint64_t> inode;  ///< device and inode; equal for two places of the same
                                          ///< file
  };
  struct Directory {
    std::string path;  ///< real path
    std::string place;
  };

  ToolchainHeaders() : digests_{{"", {}}} {}
  /// `files` must be sorted by place. `linked`: whether some files are reached through symlinks. A
  /// ".." after a symlink may lead to another directory than the spelling suggests.
  ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories, bool linked);

  /// Returns the digest of a place; none if there is nothing. A place must not contain "..". The
  /// digest of a directory covers the names and contents of all files in it, and that of "" covers
  /// all files. If one file has several places, the digest covers this too, because compilers treat
  /// them as one file.
  [[nodiscard]] std::optional<Digest> Find(std::string_view place) const;

  /// Returns the places that decide which file a name leads to. If the name contains "..", these
  /// are the directories that it enters and leaves, and then its final place. Returns "", which
  /// covers all headers, if the spelling does not show the places.
  [[nodiscard]] std::vector<std::string> PlacesOf(std::string_view name) const;

  /// Returns the innermost header directory that contains a real path, or null.
  [[nodiscard]] const Directory* DirectoryOf(std::string_view path) const;

 private:
  [[nodiscard]] bool IsDirectory(const std::string& place) const;

  std::map<std::string, Digest, std::less<>> digests_;
  std::vector<Directory> directories_;
  bool linked_ = false;
};

/// One compiler library with the libraries that it loads.
struct CompilerLibrary {
  std::string path;                  ///< absolute path
  std::vector<std::string> preload;  ///< libraries that must be opened first, in this order, such
                                     ///< as NVRTC's builtins
  std::string version;               ///< such as "13.0"
  /// SHA-256 over the contents of its files. Copies in another directory thus have the same id.
  Digest id;
  /// Digest over the names and metadata of the same files (DigestOfStamps). None if the file
  /// system's metadata do not prove that contents are unchanged.
  std::optional<Digest> stamp = std::nullopt;
};

/// A directory of a toolchain that contains headers.
struct HeaderDirectory {
  std::string path;  ///< absolute path without symlinks
  /// Other absolute spellings of the same directory ("/usr/local/cuda/include").
  std::vector<std::string> aliases;
};

/// Returns the index of the outermost header directory that contains the one with this index. If
/// there is none, returns `index`.
[[nodiscard]] size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Returns the place of a header directory in ToolchainHeaders: its index, such as "0". If another
/// header directory contains it, the index of the outermost one and the path from there, such as
/// "0/cccl".
[[nodiscard]] std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// The options and architectures that an NVRTC supports. A test run of the library has found them.
struct Capabilities {
  bool random_seed = false;  ///< whether it supports -frandom-seed=
  bool no_cache = false;     ///< whether it supports --no-cache
  bool pch = false;          ///< whether it supports --create-pch and --use-pch
  /// The architectures, such as 90 for sm_90, in the compiler's order. Empty if it can't list them.
  std::vector<uint32_t> architectures = {};
};

/// One CUDA installation with its compilers and headers. Immutable: if its files change, there is a
/// new object.
struct Toolchain {
  Digest id;  ///< digest over all compilers and headers
  /// A number that identifies one examination of the files; unique in this process. A zygote (a
  /// process that has loaded the libraries) can be used only for the same serial. The id is not
  /// enough: if files change and then change back, the id is the same, but a zygote may have loaded
  /// the others.
  uint64_t serial = 0;
  int major = 0;
  int minor = 0;
  std::string root;
  std::optional<CompilerLibrary> nvrtc;
  std::optional<CompilerLibrary> nvjitlink;
  std::optional<CompilerLibrary> nvvm;
  std::string libdevice;                 ///< path of the file libdevice.10.bc; empty if there is
                                         ///< none
  std::vector<HeaderDirectory> headers;  ///< in search order
  /// The digests of the headers. Never null.
  std::shared_ptr<const ToolchainHeaders> contents = std::make_shared<const ToolchainHeaders>();
  Capabilities capabilities;

  [[nodiscard]] std::string version() const;
  /// Returns the library for a kind of build. Null if this toolchain lacks it.
  [[nodiscard]] const CompilerLibrary* Library(BuildKind kind) const;
};

using ToolchainPtr = std::shared_ptr<const Toolchain>;

/// A CUDA installation that was found, but is not used; `reason` says why.
struct RejectedToolchain {
  std::string root;
  std::string reason;
};

/// Finds the toolchains of this node, and selects one for each request. Only Unchanged, Present and
/// Rejected wait until files have been examined. Implementations are thread-safe.
class Toolchains {
 public:
  virtual ~Toolchains() = default;

  /// Returns the toolchain for a request. It has the library for `kind`. If `selector` names a
  /// toolchain, it is that one. Otherwise it is the newest one whose version is not above that of
  /// the driver, or else the newest one whose major version is not, or else the newest one. Returns
  /// none if files must be examined first; the caller must then call WhenKnown. If `selector` names
  /// a library, Select does not wait for the search for toolchains.
  ///
  /// Errors: kToolchainNotFound, with a list of the toolchains that are there; kUnavailable if a
  /// file system does not answer.
  ///
  /// If the kernel reports a change on disk, it has effect at once. Otherwise it has effect within
  /// about a second, for example if another host has made the change, or if inotify's limit is
  /// reached.
  virtual std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                                     uint32_t driver_version, BuildKind kind) = 0;
  /// Examines the files that Select needs, and then calls `done` once: on another thread, or before
  /// this returns. If a file system does not answer, `done` is called after a limited time.
  virtual void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                         std::function<void()> done) = 0;
  /// Returns whether all files of the toolchain are unchanged since they were examined. Waits for a
  /// limited time; returns false if a file system does not answer. Called before and after each
  /// compile.
  virtual bool Unchanged(const Toolchain& toolchain) = 0;

  /// Returns whether the first search for toolchains has ended. Present and Rejected wait until
  /// then, or until the daemon stops.
  virtual bool Looked() = 0;
  virtual std::vector<ToolchainPtr> Present() = 0;  ///< the newest version first
  virtual std::vector<RejectedToolchain> Rejected() = 0;
};

// Functions on the spelling of header paths, for the daemon and its workers.

/// Returns whether ".." is a component of this path. A leading ".." without a slash before it does
/// not count.
[[nodiscard]] inline bool GoesUp(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

/// Returns whether `path` is `directory` or in it. Both must not contain "." or "//".
[[nodiscard]] inline bool LiesIn(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Returns whether `path` is in a header directory and belongs to the toolchain. Files in Python's
/// __pycache__ directories do not belong to it.
[[nodiscard]] inline bool LiesInHeaders(std::string_view path, std::string_view directory) {
  if (!LiesIn(path, directory)) return false;
  const std::string below = std::string(path.substr(directory.size())) + "/";
  return below.find("/__pycache__/") == std::string::npos;
}

/// Returns the name that a worker announces before it looks at `name` in the toolchain's directory
/// `top`. This is the file or directory directly in `top` that contains `name`. So closures are
/// short, and match all toolchains that are equal in these entries. A name with ".." is announced
/// unchanged.
[[nodiscard]] inline std::string EntryOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cache::daemon
