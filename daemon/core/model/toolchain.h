// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain_headers.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// One compiler library with all that it loads by itself.
struct CompilerLibrary {
  std::string path;                  ///< absolute
  std::vector<std::string> preload;  ///< opened before it, in order (NVRTC's builtins)
  std::string version;               ///< "13.0"
  /// SHA-256 over the bytes of its files: equal ones elsewhere have the same.
  cccl_cache::Digest id;
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
  cccl_cache::Digest id;  ///< over all components
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
  [[nodiscard]] const CompilerLibrary* Library(cccl_cache::BuildKind kind) const;
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
  virtual std::optional<Result<ToolchainPtr>> Select(const cccl_cache::ToolchainSelector& selector,
                                                     uint32_t driver_version,
                                                     cccl_cache::BuildKind kind) = 0;
  /// Looks at the files that Select needs and then calls `done`, once, on another thread or at once
  /// on this one; after a bounded time also if a file system hangs.
  virtual void WhenKnown(const cccl_cache::ToolchainSelector& selector, uint32_t driver_version,
                         cccl_cache::BuildKind kind, std::function<void()> done) = 0;
  /// Whether all its files are still those that were identified, at this moment. Called before and
  /// after each compile; waits for a bounded time. False if a file system hangs.
  virtual bool Unchanged(const Toolchain& toolchain) = 0;

  /// Whether the first look is over. Until then, or until a stop, the following two wait.
  virtual bool Looked() = 0;
  virtual std::vector<ToolchainPtr> Present() = 0;  ///< newest first
  virtual std::vector<RejectedToolchain> Rejected() = 0;
};

}  // namespace cccl_cache::daemon
