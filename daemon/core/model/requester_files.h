// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/core/model/account.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Root numbers outside the search order. kAbsoluteRoot: the name is absolute and under no root.
/// kWorkingDirectoryRoot: the name is in the working directory.
inline constexpr uint32_t kAbsoluteRoot = 0xffffffff;
inline constexpr uint32_t kWorkingDirectoryRoot = 0xfffffffe;

/// The root number of the toolchain's own headers. The name is a place in ToolchainHeaders or a
/// real path. Its kind and digest are known without reading a file.
inline constexpr uint32_t kToolchainRoot = 0xfffffffd;

/// A name that a compiler asked for: the number of a root and a path relative to it. The kernel
/// resolves ".." and symlinks, so a name may lead out of its root.
struct FileName {
  uint32_t root = 0;
  std::string below;  ///< "cub/cub.cuh"; "" is the root itself; with kAbsoluteRoot "/opt/x.h"

  auto operator<=>(const FileName&) const = default;
};

/// kToolchain: a file of the toolchain's headers, or a directory with all its contents.
enum class FileKind : uint8_t { kAbsent = 0, kFile = 1, kDirectory = 2, kToolchain = 3 };

/// Returns whether an entry of this kind is identified by a digest.
[[nodiscard]] inline bool HasDigest(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kToolchain;
}
/// Returns whether an entry of this kind is an inode, which may have other names.
[[nodiscard]] inline bool HasInode(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kDirectory;
}

/// The file or directory behind a name.
struct SeenFile {
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< of a file's contents, or of the toolchain's headers
  /// Device and inode of a file or directory, which are equal for hard links and for symlinks to
  /// one file.
  std::pair<uint64_t, uint64_t> inode{0, 0};
};

/// Looks up a name whose root is kToolchainRoot. Returns kToolchain or kAbsent, or none if the name
/// is a path outside this toolchain.
[[nodiscard]] std::optional<SeenFile> SeenIn(const ToolchainHeaders& toolchain,
                                             const FileName& name);

/// A name that will next be compared with an entry of a closure.
struct ExpectedFile {
  const FileName* name;
  /// The digest of the entry's contents. Null if the contents must not be asked for yet.
  const Digest* digest = nullptr;
};

/// The directories of one build in search order. An empty path stands for no directory: every name
/// in it is absent.
struct RootDirectories {
  std::vector<std::string> roots;
  std::string working_directory;
  /// The requester's view of the file system, in which these paths are resolved. None if it is
  /// unknown.
  std::optional<FilesView> view = std::nullopt;
  /// The headers of the build's toolchain. Null: no name is among them.
  std::shared_ptr<const ToolchainHeaders> toolchain = nullptr;

  /// Returns the absolute path in the requester's spelling. Empty if the name has none.
  [[nodiscard]] std::string PathOf(const FileName& name) const;
};

/// The files of one requester under the roots of one build. Blocks as long as the disk does, which
/// may be for ever, so it must not be called on a thread for which others wait. Used by one thread
/// at a time.
///
/// Errors: kFilesNeeded if only the client can look the name up. kDenied if no client may have the
/// file (a FIFO, a device, /proc, the daemon's own directories) or if it is too large.
class RequesterFiles {
 public:
  virtual ~RequesterFiles() = default;

  /// Announces the names of the next comparisons, so that they can be looked up together.
  virtual void Expect(std::span<const ExpectedFile> /*expected*/) {}

  /// Returns the file's present state, or its state at Expect. Contents are read only if their
  /// digest is not known.
  virtual Result<SeenFile> Look(const FileName& name) = 0;

  /// As Look, for a comparison with a file of this digest. If the contents differ, the returned
  /// digest may be a false claim of the client, so only the difference is certain.
  virtual Result<SeenFile> Compare(const FileName& name, const Digest& /*digest*/) {
    return Look(name);
  }

  struct Contents {
    SeenFile seen;
    std::shared_ptr<const std::string> bytes;  ///< of a file; they have this digest
  };
  virtual Result<Contents> Read(const FileName& name) = 0;
};

/// Opens the files of any requester where the daemon may do so for that requester
/// (docs/internals/decisions/0011). Thread-safe.
class FileAccess {
 public:
  virtual ~FileAccess() = default;

  /// Returns the requester's files. Touches no disk yet.
  virtual std::unique_ptr<RequesterFiles> Of(const Peer& peer, RootDirectories directories) = 0;
};

/// The files of one caller that sends them itself, because the daemon may not or cannot open them.
/// Thread-safe.
class CallerFiles {
 public:
  virtual ~CallerFiles() = default;

  /// Returns files whose look-ups wait for the caller's answers, each for a bounded time. Their
  /// errors are never kFilesNeeded.
  virtual std::unique_ptr<RequesterFiles> Open(RootDirectories directories) = 0;

  /// Returns whether an answer was an error or missing. A result from such answers is not valid for
  /// other callers.
  [[nodiscard]] virtual bool failed() const = 0;
};
using CallerFilesPtr = std::shared_ptr<CallerFiles>;

/// A caller with the files that it sends.
struct Caller {
  Caller(Peer who = {}, CallerFilesPtr brought = nullptr)  // NOLINT: implicit
      : peer(std::move(who)), files(std::move(brought)) {}

  Peer peer;
  CallerFilesPtr files;  ///< null if the caller sends no files
};

/// Returns whether files that this uid sent for these directories must not count for another caller
/// of the same uid. That is so for the overflow uid, which many people have. It is also so without
/// a view, because another caller may have other files under the same names.
[[nodiscard]] bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories);

/// Returns the files of this caller. The daemon opens those that it may open for the caller. It
/// asks the caller for the others, if the caller sends files.
[[nodiscard]] std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                                        const RootDirectories& directories);

}  // namespace cccl_cache::daemon
