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

/// Root numbers for names that are in none of a build's header directories. kAbsoluteRoot: an
/// absolute path outside all of them. kWorkingDirectoryRoot: a path in the working directory.
inline constexpr uint32_t kAbsoluteRoot = 0xffffffff;
inline constexpr uint32_t kWorkingDirectoryRoot = 0xfffffffe;

/// The root number of the toolchain's own headers. FileName::below is then a place in
/// ToolchainHeaders, or a real path. The kind and digest of such a name are known without reading a
/// file.
inline constexpr uint32_t kToolchainRoot = 0xfffffffd;

/// A name that a compiler asked for: the number of a root directory, and a path in it. The name may
/// lead out of the root, because ".." and symlinks are allowed.
struct FileName {
  uint32_t root = 0;
  std::string below;  ///< such as "cub/cub.cuh"; "" for the root itself; absolute with
                      ///< kAbsoluteRoot

  auto operator<=>(const FileName&) const = default;
};

/// The kind of a file. kToolchain is a file among the toolchain's headers, or a directory there
/// with everything in it.
enum class FileKind : uint8_t { kAbsent = 0, kFile = 1, kDirectory = 2, kToolchain = 3 };

/// Returns whether a file of this kind is recorded with a digest.
[[nodiscard]] inline bool HasDigest(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kToolchain;
}
/// Returns whether a file of this kind is recorded with its inode, by which other names of the same
/// file are recognized.
[[nodiscard]] inline bool HasInode(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kDirectory;
}

/// What a look-up of a name found.
struct SeenFile {
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< digest of the file's contents; for kToolchain, as in ToolchainHeaders::Find
  /// The device and inode numbers. They are equal for two names of the same file, for example hard
  /// links or symlinks. Zeros if HasInode is false.
  std::pair<uint64_t, uint64_t> inode{0, 0};
};

/// Looks up a name with the root kToolchainRoot. Returns the kind kToolchain or kAbsent. Returns
/// none if the name is a path outside this toolchain.
[[nodiscard]] std::optional<SeenFile> SeenIn(const ToolchainHeaders& toolchain,
                                             const FileName& name);

/// A name that will next be compared with an entry of a closure.
struct ExpectedFile {
  const FileName* name;
  /// The digest that the closure has for it. Null if the caller must not be asked for the contents
  /// yet.
  const Digest* digest = nullptr;
};

/// The directories in which one build looks for headers, in search order. An empty path stands for
/// a directory that does not exist.
struct RootDirectories {
  std::vector<std::string> roots;
  std::string working_directory;
  /// The view of the file system (mount namespace and root directory) to which these paths belong.
  /// None if it is unknown.
  std::optional<FilesView> view = std::nullopt;
  /// The headers of the build's toolchain. Null if there are none.
  std::shared_ptr<const ToolchainHeaders> toolchain = nullptr;

  /// Returns the absolute path of a name, as the requester spells it. Empty if it is not known.
  [[nodiscard]] std::string PathOf(const FileName& name) const;
};

/// The files that one requester sees in the root directories of one build. Reads the disk, which
/// may block for ever. So it must be called only on threads for which no others wait. Used by one
/// thread at a time.
///
/// Errors: kFilesNeeded if the daemon may not open the file, so that the client must send it.
/// kDenied if the file is too large, or of a kind that no client may have: a FIFO, a device, a file
/// in /proc or in the daemon's own directories.
class RequesterFiles {
 public:
  virtual ~RequesterFiles() = default;

  /// Announces the names that will be compared next, so that they can be looked up together.
  virtual void Expect(std::span<const ExpectedFile> /*expected*/) {}

  /// Returns what the name means now, or meant when it was announced with Expect. Contents are read
  /// only if the digest of the file is not known from before.
  virtual Result<SeenFile> Look(const FileName& name) = 0;

  /// Like Look, for a comparison with the digest of a closure. If the returned digest differs from
  /// `digest`, only the difference is certain: the returned digest may be a false claim of the
  /// client.
  virtual Result<SeenFile> Compare(const FileName& name, const Digest& /*digest*/) {
    return Look(name);
  }

  struct Contents {
    SeenFile seen;
    std::shared_ptr<const std::string> bytes;  ///< null unless it is a file; their digest is
                                               ///< `seen.digest`
  };
  virtual Result<Contents> Read(const FileName& name) = 0;
};

/// Opens files for requesters, as far as the daemon may do that for them
/// (docs/internals/decisions/0011). Thread-safe.
class FileAccess {
 public:
  virtual ~FileAccess() = default;

  /// Returns the files of this requester. The disk is read only when they are used.
  virtual std::unique_ptr<RequesterFiles> Of(const Peer& peer, RootDirectories directories) = 0;
};

/// The files of one caller who sends them, because the daemon may not or can't open them.
/// Thread-safe.
class CallerFiles {
 public:
  virtual ~CallerFiles() = default;

  /// Returns the files in these directories. Each look-up waits for an answer of the caller, for a
  /// limited time. Errors are never kFilesNeeded.
  virtual std::unique_ptr<RequesterFiles> Open(RootDirectories directories) = 0;

  /// Returns whether the caller has not answered a question, or has answered it with an error. A
  /// result is then not valid for other callers.
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

/// Returns whether files that one caller of this uid has sent must not be used for another caller
/// of the same uid. That is so for the overflow uid, which many people may have. It is also so if
/// the view is unknown, because the same names may then mean other files.
[[nodiscard]] bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories);

/// Returns the files of this caller. The daemon opens the files that it may open for the caller. If
/// the caller sends files, it is asked for all others.
[[nodiscard]] std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                                        const RootDirectories& directories);

}  // namespace cccl_cache::daemon
