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

#include "daemon/core/model/peer.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Root numbers that stand for no directory of the search order: names that lie under no root,
/// which are absolute then, and names that lie in the working directory.
inline constexpr uint32_t kAbsoluteRoot = 0xffffffff;
inline constexpr uint32_t kWorkingDirectoryRoot = 0xfffffffe;

/// The root number of the toolchain's own headers: the name is a place in ToolchainHeaders, or a
/// real path. What lies there is known without a look at a file.
inline constexpr uint32_t kToolchainRoot = 0xfffffffd;

/// A name as a compiler asked for it: a root's number and what follows, relative to it. ".." and
/// symlinks are left to the kernel; so a name may leave its root.
struct FileName {
  uint32_t root = 0;
  std::string below;  ///< "cub/cub.cuh"; "" is the root itself; with kAbsoluteRoot "/opt/x.h"

  auto operator<=>(const FileName&) const = default;
};

/// kToolchain: a file of the toolchain's headers, or a directory with all that lies in it.
enum class FileKind : uint8_t { kAbsent = 0, kFile = 1, kDirectory = 2, kToolchain = 3 };

/// Whether what lies under a name is known by its digest.
[[nodiscard]] inline bool HasDigest(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kToolchain;
}
/// Whether what lies under a name is an inode, which may have other names.
[[nodiscard]] inline bool HasInode(FileKind kind) {
  return kind == FileKind::kFile || kind == FileKind::kDirectory;
}

/// What lies under a name.
struct SeenFile {
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< of a file's contents, or of the toolchain's headers
  /// Device and inode of a file or directory: equal for hard links and for symlinks to one file.
  std::pair<uint64_t, uint64_t> inode{0, 0};
};

/// Looks up a name whose root is kToolchainRoot: kToolchain or kAbsent. None: the name is a path
/// elsewhere than in this toolchain.
[[nodiscard]] std::optional<SeenFile> SeenIn(const ToolchainHeaders& toolchain,
                                             const FileName& name);

/// A name that is about to be compared with an entry of a closure.
struct ExpectedFile {
  const FileName* name;
  /// Of the contents that the entry has. Null: contents are not to be asked for yet.
  const Digest* digest = nullptr;
};

/// The directories of one build in search order. An empty path: nowhere, every name in it is
/// absent.
struct RootDirectories {
  std::vector<std::string> roots;
  std::string working_directory;
  /// What these paths mean to the requester; none: unknown.
  std::optional<FilesView> view = std::nullopt;
  /// Of the toolchain that serves the build; null: no name is in it.
  std::shared_ptr<const ToolchainHeaders> toolchain = nullptr;

  /// Absolute, as the requester spells it; empty: nowhere.
  [[nodiscard]] std::string PathOf(const FileName& name) const;
};

/// The files of one requester under the roots of one build. Blocks as long as the disk does, which
/// may be for ever: never on a thread that others wait for. Used by one thread at a time.
///
/// Errors: kFilesNeeded, the daemon may not or cannot tell, only the client can; kDenied, nobody is
/// given this (a FIFO, a device, /proc, the daemon's own directories), or the file is too large.
class RequesterFiles {
 public:
  virtual ~RequesterFiles() = default;

  /// These will be compared next, so they can be looked at together.
  virtual void Expect(std::span<const ExpectedFile> /*expected*/) {}

  /// What lies there now, or lay there when it was expected. The contents are read only where their
  /// digest is not known.
  virtual Result<SeenFile> Look(const FileName& name) = 0;

  /// The same, to compare it with a file of this digest. A file with another digest may come with
  /// the one that its owner claims: nothing but the difference is certain then.
  virtual Result<SeenFile> Compare(const FileName& name, const Digest& /*digest*/) {
    return Look(name);
  }

  struct Contents {
    SeenFile seen;
    std::shared_ptr<const std::string> bytes;  ///< of a file: exactly those of the digest
  };
  virtual Result<Contents> Read(const FileName& name) = 0;
};

/// Opens the files of any requester as trust.md, rule 4 allows. Thread-safe.
class FileAccess {
 public:
  virtual ~FileAccess() = default;

  /// Touches no disk yet.
  virtual std::unique_ptr<RequesterFiles> Of(const Peer& peer, RootDirectories directories) = 0;
};

/// The files of one caller, who sends them itself: for what the daemon may not or cannot open.
/// Thread-safe.
class CallerFiles {
 public:
  virtual ~CallerFiles() = default;

  /// Waits for the caller's answers, each for a bounded time. Its errors are never kFilesNeeded.
  virtual std::unique_ptr<RequesterFiles> Open(RootDirectories directories) = 0;

  /// An answer was an error, or did not come: what was made of it says nothing to other callers.
  [[nodiscard]] virtual bool failed() const = 0;
};
using CallerFilesPtr = std::shared_ptr<CallerFiles>;

/// Who calls, and what it brings along.
struct Caller {
  Caller(Peer who = {}, CallerFilesPtr brought = nullptr)  // NOLINT: implicit
      : peer(std::move(who)), files(std::move(brought)) {}

  Peer peer;
  CallerFilesPtr files;  ///< null: it sends none
};

/// Whether nobody else has the files of who says the same, if it sends them: an overflow uid is
/// many people, and who does not say what its paths mean may have other files under the same names.
[[nodiscard]] bool IsAloneWithSentFiles(uid_t uid, const RootDirectories& directories);

/// What the daemon may open for this caller it opens itself; the rest the caller is asked for.
[[nodiscard]] std::unique_ptr<RequesterFiles> OpenFiles(FileAccess& access, const Caller& caller,
                                                        const RootDirectories& directories);

}  // namespace cccl_cache::daemon
