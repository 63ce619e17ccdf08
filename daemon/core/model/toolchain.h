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

/// The digests of a toolchain's headers: of single files and of whole directories. A place is the
/// number of a header directory and the path below it: "0/cub/cub.cuh". A header directory inside
/// another one has a place under the other's number: "0/cccl". Immutable.
class ToolchainHeaders {
 public:
  struct File {
    std::string place;
    Digest contents;
    std::pair<uint64_t, uint64_t> inode;  ///< equal for two places of the same file
  };
  struct Directory {
    std::string path;  ///< real
    std::string place;
  };

  ToolchainHeaders() : digests_{{"", {}}} {}
  /// `files` are sorted by place. `linked`: some files are reached through symlinks, so that ".."
  /// after a symlink may not lead to the parent in the spelling.
  ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories, bool linked);

  /// Returns the digest at a place without "..". None if there is no file. The digest of a
  /// directory covers the names and contents of all files in it; that of "" covers all files. Files
  /// that are one inode at several places have their own digests, because compilers distinguish
  /// them.
  [[nodiscard]] std::optional<Digest> Find(std::string_view place) const;

  /// Returns the places that decide the target of a name. The name may contain "..": the
  /// directories that it enters and leaves come first, its final place last. Returns "", which
  /// stands for all headers, if the spelling does not show the places.
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
  std::string path;                  ///< absolute
  std::vector<std::string> preload;  ///< opened before the library, in order (NVRTC's builtins)
  std::string version;               ///< "13.0"
  /// SHA-256 over the bytes of its files, so equal files in another directory have the same id.
  Digest id;
  /// DigestOfStamps of the same files. None if their stamps prove nothing.
  std::optional<Digest> stamp = std::nullopt;
};

/// One header directory of a toolchain.
struct HeaderDirectory {
  std::string path;  ///< absolute, symlinks resolved
  /// Other absolute spellings of the same directory ("/usr/local/cuda/include").
  std::vector<std::string> aliases;
};

/// Returns the index of the outermost header directory that contains this one. Its own index if
/// there is none.
[[nodiscard]] size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Returns the place of a header directory in ToolchainHeaders: its number, or the number of the
/// outermost directory that contains it and the path from there ("0/cccl").
[[nodiscard]] std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Options and architectures that this NVRTC accepts, as found by the probe.
struct Capabilities {
  bool random_seed = false;  ///< -frandom-seed=
  bool no_cache = false;     ///< --no-cache
  bool pch = false;          ///< --create-pch, --use-pch
  /// 90 for sm_90, in the compiler's order. Empty if the compiler can't list them.
  std::vector<uint32_t> architectures = {};
};

/// One CUDA installation. Immutable: a change on disk makes a new object.
struct Toolchain {
  Digest id;  ///< over all components
  /// Unique in this process for each identification of files. A process that has loaded the files
  /// (a zygote) is matched by it. Files that change and change back have the same id twice, with
  /// other files in between.
  uint64_t serial = 0;
  int major = 0;
  int minor = 0;
  std::string root;
  std::optional<CompilerLibrary> nvrtc;
  std::optional<CompilerLibrary> nvjitlink;
  std::optional<CompilerLibrary> nvvm;
  std::string libdevice;                 ///< path of libdevice.10.bc, or empty
  std::vector<HeaderDirectory> headers;  ///< in search order
  /// Digests of the files in `headers`. Never null.
  std::shared_ptr<const ToolchainHeaders> contents = std::make_shared<const ToolchainHeaders>();
  Capabilities capabilities;

  [[nodiscard]] std::string version() const;
  /// Returns the library for a kind of build. Null if this toolchain lacks it.
  [[nodiscard]] const CompilerLibrary* Library(BuildKind kind) const;
};

using ToolchainPtr = std::shared_ptr<const Toolchain>;

/// An installation that was found but is not used.
struct RejectedToolchain {
  std::string root;
  std::string reason;
};

/// All toolchains of the node. Implementations are thread-safe. Only Unchanged, Present and
/// Rejected wait for looks at files.
class Toolchains {
 public:
  virtual ~Toolchains() = default;

  /// Returns the toolchain that serves a request. It always has the library for `kind`. It is the
  /// toolchain that the selector names, else the newest whose version is not above the driver's,
  /// else the newest whose major is not, else the newest. Returns none if files must be examined
  /// first; the caller calls again when WhenKnown calls back. A selector by a library does not wait
  /// until toolchains are found.
  ///
  /// Errors: kToolchainNotFound lists the present toolchains; kUnavailable: a file system hangs.
  ///
  /// A change on disk has effect at once if the kernel reports it. If the kernel does not (other
  /// hosts may write there, or inotify is used up), it has effect within about a second.
  virtual std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                                     uint32_t driver_version, BuildKind kind) = 0;
  /// Examines the files that Select needs, then calls `done` once, on another thread or at once on
  /// this thread. If a file system hangs, `done` is still called after a limited time.
  virtual void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                         std::function<void()> done) = 0;
  /// Returns whether all its files are still the identified files at this moment. Called before and
  /// after each compile. Waits for a limited time. False if a file system hangs.
  virtual bool Unchanged(const Toolchain& toolchain) = 0;

  /// Returns whether the first scan has ended. Before its end, or before a stop, the following two
  /// calls wait.
  virtual bool Looked() = 0;
  virtual std::vector<ToolchainPtr> Present() = 0;  ///< newest first
  virtual std::vector<RejectedToolchain> Rejected() = 0;
};

// Functions on the spelling of header paths, for the daemon and its workers.

/// Returns whether ".." is a component of this path. A leading ".." without a slash before it does
/// not count.
[[nodiscard]] inline bool GoesUp(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

/// Returns whether `path` is `directory` or lies in it; both without "." and "//".
[[nodiscard]] inline bool LiesIn(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Returns whether `path` is in a header directory and belongs to the toolchain. Python's
/// __pycache__ directories do not.
[[nodiscard]] inline bool LiesInHeaders(std::string_view path, std::string_view directory) {
  if (!LiesIn(path, directory)) return false;
  const std::string below = std::string(path.substr(directory.size())) + "/";
  return below.find("/__pycache__/") == std::string::npos;
}

/// Returns the name that a worker announces before it looks at `name` in the toolchain's directory
/// `top`: the entry of `top` that contains `name`. Closures are thus short, and are true for all
/// toolchains with equal entries of these names. A name with ".." is announced unchanged.
[[nodiscard]] inline std::string EntryOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cache::daemon
