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

/// The digests of a toolchain's headers, of single files and of whole directories. A place is the
/// number of a header directory and what follows: "0/cub/cub.cuh". A header directory that lies in
/// another one has the other's number: "0/cccl". Immutable.
class ToolchainHeaders {
 public:
  struct File {
    std::string place;
    Digest contents;
    std::pair<uint64_t, uint64_t> inode;  ///< equal for two places of one file
  };
  struct Directory {
    std::string path;  ///< real
    std::string place;
  };

  ToolchainHeaders() : digests_{{"", {}}} {}
  /// `files`: sorted by place. `linked`: some are reached through symlinks, so ".." behind one is
  /// not the directory above by its letters.
  ToolchainHeaders(std::vector<File> files, std::vector<Directory> directories, bool linked);

  /// The digest at a place without ".." in it: of a directory over names and contents of all files
  /// in it, of "" over all files; none: no file lies there. Files that are one inode at several
  /// places have digests of their own, for compilers notice.
  [[nodiscard]] std::optional<Digest> Find(std::string_view place) const;

  /// The places that decide what a name leads to, which may have ".." in it: the directories that
  /// are left again, then the last. "", all headers, where the letters can't tell.
  [[nodiscard]] std::vector<std::string> PlacesOf(std::string_view name) const;

  /// The innermost header directory that a real path lies in; null: none.
  [[nodiscard]] const Directory* DirectoryOf(std::string_view path) const;

 private:
  [[nodiscard]] bool IsDirectory(const std::string& place) const;

  std::map<std::string, Digest, std::less<>> digests_;
  std::vector<Directory> directories_;
  bool linked_ = false;
};

/// One compiler library with all that it loads by itself.
struct CompilerLibrary {
  std::string path;                  ///< absolute
  std::vector<std::string> preload;  ///< opened before it, in order (NVRTC's builtins)
  std::string version;               ///< "13.0"
  /// SHA-256 over the bytes of its files: equal ones elsewhere have the same.
  Digest id;
};

/// One header directory that belongs to a toolchain.
struct HeaderDirectory {
  std::string path;  ///< absolute, symlinks resolved
  /// Other absolute spellings under which the same directory was found ("/usr/local/cuda/include").
  std::vector<std::string> aliases;
};

/// The outermost header directory that this one lies in; itself if it lies in none.
[[nodiscard]] size_t OutermostOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// Where a header directory stands in ToolchainHeaders: its number, or the number of the one that
/// it lies in and the way there ("0/cccl").
[[nodiscard]] std::string PlaceOf(const std::vector<HeaderDirectory>& directories, size_t index);

/// What the probe found this NVRTC to accept.
struct Capabilities {
  bool random_seed = false;  ///< -frandom-seed=
  bool no_cache = false;     ///< --no-cache
  bool pch = false;          ///< --create-pch, --use-pch
};

/// One installed CUDA. Immutable: a change on disk makes a new object.
struct Toolchain {
  Digest id;  ///< over all components
  /// Unique in this process for each time that files were identified. What has loaded the files (a
  /// zygote) goes by it: files that change and change back have one id twice, with others between.
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
  /// The library that a kind of build uses; null if this toolchain lacks it.
  [[nodiscard]] const CompilerLibrary* Library(BuildKind kind) const;
};

using ToolchainPtr = std::shared_ptr<const Toolchain>;

/// An installation that was found and is not used.
struct RejectedToolchain {
  std::string root;
  std::string reason;
};

/// All toolchains of the node. Implementations are thread-safe; no method but Unchanged, Present
/// and Rejected waits for files to be looked at.
class Toolchains {
 public:
  virtual ~Toolchains() = default;

  /// The toolchain that serves a request: what the selector names, else the newest whose version is
  /// not above the driver's, else the newest whose major is not, else the newest; always one that
  /// has the library for `kind`. Nothing:
  /// files have to be looked at first; ask again when WhenKnown calls back.
  /// kToolchainNotFound lists those present; kUnavailable: a file system hangs.
  /// A change on disk is seen at once where the kernel tells of it; where it does not (other hosts
  /// may write there, inotify is used up), within about a second.
  virtual std::optional<Result<ToolchainPtr>> Select(const ToolchainSelector& selector,
                                                     uint32_t driver_version, BuildKind kind) = 0;
  /// Looks at the files that Select needs and then calls `done`, once, on another thread or at once
  /// on this one; after a bounded time also if a file system hangs.
  virtual void WhenKnown(const ToolchainSelector& selector, uint32_t driver_version, BuildKind kind,
                         std::function<void()> done) = 0;
  /// Whether all its files are still those that were identified, at this moment. Called before and
  /// after each compile; waits for a bounded time. False if a file system hangs.
  virtual bool Unchanged(const Toolchain& toolchain) = 0;

  /// Whether the first look is over. Until then, or until a stop, the following two wait.
  virtual bool Looked() = 0;
  virtual std::vector<ToolchainPtr> Present() = 0;  ///< newest first
  virtual std::vector<RejectedToolchain> Rejected() = 0;
};

// Paths of a toolchain's headers by their letters, for the daemon and its workers.

/// Whether ".." is a step of this path.
[[nodiscard]] inline bool GoesUp(std::string_view path) {
  return path.find("/../") != std::string_view::npos || path.ends_with("/..");
}

/// Whether `path` is `directory` or lies in it; both without "." and "//".
[[nodiscard]] inline bool LiesIn(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

/// Whether it lies in a header directory and belongs to the toolchain. What Python leaves there
/// when it runs does not.
[[nodiscard]] inline bool LiesInHeaders(std::string_view path, std::string_view directory) {
  if (!LiesIn(path, directory)) return false;
  const std::string below = std::string(path.substr(directory.size())) + "/";
  return below.find("/__pycache__/") == std::string::npos;
}

/// The name that a worker announces before it looks at `name` in the toolchain's directory `top`:
/// that of the whole entry of `top` that it lies in. So closures are short, and true of all
/// toolchains that have these entries, whatever else they have. A name with ".." is announced as it
/// is.
[[nodiscard]] inline std::string EntryOf(std::string_view name, std::string_view top) {
  if (GoesUp(name) || name.size() <= top.size()) return std::string(name);
  return std::string(name.substr(0, name.find('/', top.size() + 1)));
}

}  // namespace cccl_cache::daemon
