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
  /// `files`: sorted by place. `linked`: some are reached through symlinks, so ".." after a symlink
  /// does not lead to the parent that the path spells.
  ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories, bool linked);

  /// Returns the digest at a place without ".." in it; none: no file lies there. A directory's
  /// digest is over the names and contents of all files in it; that of "" is over all files. Files
  /// that are one inode at several places have digests of their own, because compilers notice.
  [[nodiscard]] std::optional<Digest> Find(std::string_view place) const;

  /// Returns the places that decide what a name leads to. The name may have ".." in it: the
  /// directories that it enters and leaves come first, its final place last. Returns "", which is
  /// all headers, where the spelling can't tell.
  [[nodiscard]] std::vector<std::string> PlacesOf(std::string_view name) const;

  /// Returns the innermost header directory that a real path lies in, or null.
  [[nodiscard]] const Directory* DirectoryOf(std::string_view path) const;

 private:
  [[nodiscard]] bool IsDirectory(const std::string& place) const;

  std::map<std::string, Digest, std::less<>> digests_;
  std::vector<Directory> directories_;
  bool linked_ = false;
};

/// One compiler library with the libraries that it loads by itself.
struct CompilerLibrary {
  std::string path;                  ///< absolute
  std::vector<std::string> preload;  ///< opened before the library, in order (NVRTC's builtins)
  std::string version;               ///< "13.0"
  /// SHA-256 over the bytes of its files: equal files in another place give the same id.
  Digest id;
  /// DigestOfStamps of the same files; none: their stamps prove nothing.
  std::optional<Digest> stamp = std::nullopt;
};

/// One header directory that belongs to a toolchain.
struct HeaderDirectory {
  std::string path;  ///< absolute, symlinks resolved
  /// Other absolute spellings under which the same directory was found ("/usr/local/cuda/include").
  std::vector<std::string> aliases;
};

/// Returns the index of the outermost header directory that this one lies in; its own if it lies in
/// none.
[[nodiscard]] size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Returns the place of a header directory in ToolchainHeaders. That is its number, or the number
/// of the directory that it lies in and the path from there ("0/cccl").
[[nodiscard]] std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Options and architectures that this NVRTC accepts, as the probe found.
struct Capabilities {
  bool random_seed = false;  ///< -frandom-seed=
  bool no_cache = false;     ///< --no-cache
  bool pch = false;          ///< --create-pch, --use-pch
  /// As 90 for sm_90, in the compiler's order; empty if it can't list them.
  std::vector<uint32_t> architectures = {};
};

/// One CUDA installation. Immutable: a change on disk makes a new object.
struct Toolchain {
  Digest id;  ///< over all components
  /// Unique in this process for each time that files were identified. A process that has loaded the
  /// files (a zygote) is matched by it. Files that change and change back have the same id twice,
  /// with other files in between.
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
  /// Returns the library that a kind of build uses; null if this toolchain lacks it.
  [[nodiscard]] const CompilerLibrary* Library(BuildKind kind) const;
};

using ToolchainPtr = std::shared_ptr<const Toolchain>;

/// An installation that was found but is not used.
struct RejectedToolchain {
  std::string root;
  std::string reason;
};

/// All toolchains of the node. Implementations are thread-safe. Only Unchanged, Present and
/// Rejected wait for files to be looked at.
class Toolchains {
 public:
  virtual ~Toolchains() = default;

  /// Returns the toolchain that serves a request, which always has the library for `kind`: the one
  /// that the selector names, else the newest whose version is not above the driver's, else the
  /// newest whose major is not, else the newest. Returns none if files must be examined first; call
  /// again when WhenKnown calls back. A selector by a library does not wait for toolchains to be
  /// found.
  ///
  /// Errors: kToolchainNotFound lists those present; kUnavailable: a file system hangs.
  ///
  /// A change on disk is seen at once if the kernel reports it. If it does not (other hosts may
  /// write there, inotify is used up), the change is seen within about a second.
  virtual std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                                     uint32_t driver_version, BuildKind kind) = 0;
  /// Examines the files that Select needs, then calls `done` once, on another thread or at once on
  /// this one. If a file system hangs, `done` is still called after a bounded time.
  virtual void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                         std::function<void()> done) = 0;
  /// Returns whether all its files are, at this moment, still those that were identified. Called
  /// before and after each compile; waits for a bounded time. False if a file system hangs.
  virtual bool Unchanged(const Toolchain& toolchain) = 0;

  /// Returns whether the first scan is over. Until then, or until a stop, the following two calls
  /// wait.
  virtual bool Looked() = 0;
  virtual std::vector<ToolchainPtr> Present() = 0;  ///< newest first
  virtual std::vector<RejectedToolchain> Rejected() = 0;
};

// Functions on the spelling of header paths, for the daemon and its workers.

/// Returns whether ".." is a component of this path. A leading one without a slash before it does
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

/// Returns whether `path` lies in a header directory and belongs to the toolchain. The __pycache__
/// directories that Python leaves there do not.
[[nodiscard]] inline bool LiesInHeaders(std::string_view path, std::string_view directory) {
  if (!LiesIn(path, directory)) return false;
  const std::string below = std::string(path.substr(directory.size())) + "/";
  return below.find("/__pycache__/") == std::string::npos;
}

/// Returns the name that a worker announces before it looks at `name` in the toolchain's directory
/// `top`: that of the entry of `top` that `name` lies in. So closures are short, and are true for
/// all toolchains with equal entries of these names. A name with ".." is announced unchanged.
[[nodiscard]] inline std::string EntryOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cache::daemon
