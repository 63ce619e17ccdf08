// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

/// The answer that a compiler got about one name.
struct ClosureEntry {
  FileName name;
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< set if HasDigest; else zero
  /// Set if HasInode: the index of the first entry in the closure with the same inode, possibly its
  /// own. `#pragma once` treats hard links and symlinks as one file, but not copies.
  uint32_t same_as = 0;

  bool operator==(const ClosureEntry&) const = default;
};

/// All answers that a compiler got about files, in the order of its first questions. For the
/// toolchain's headers it has the directories that the compiler may have read, as a whole.
struct Closure {
  std::vector<ClosureEntry> entries;

  bool operator==(const Closure&) const = default;
};

/// Limits of the names in one closure, in number and in bytes, for recorded and for read closures.
/// A whole CCCL tree has 2,000 names.
inline constexpr size_t kMaxClosureNames = 100'000;
inline constexpr uint64_t kMaxClosureNameBytes = 16u << 20;

/// Returns the closure's size in memory.
[[nodiscard]] uint64_t BytesOf(const Closure& closure);

/// Returns whether the closure has only the toolchain's headers, so that its truth depends on the
/// toolchain alone and not on the requester.
[[nodiscard]] bool IsOfToolchain(const Closure& closure);

/// Returns the artifact's key. For a closure without entries it is KeyWithoutClosure.
[[nodiscard]] Digest KeyOf(const Digest& fingerprint, const Closure& closure);

/// The user of the build that had a closure: the requester's own user, or another one.
///
/// A caller that sends its files is asked for all names of its own user's closures together. For
/// closures of other users it is asked for one name after another, up to the first that differs,
/// and for contents only once all names before are true. So a closure of another user neither
/// discloses names to the caller nor makes it open files that its own compile would not ask for
/// (docs/internals/decisions/0015).
enum class ClosureOf { kRequester, kOthers };

/// Returns the index of the first entry that does not match these files, or whose file could not be
/// read. Returns closure.entries.size() if the whole closure is true. Blocks as long as the disk
/// does.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose);

/// Returns the error if only the caller can look this name up. If all names before it are
/// unchanged, the compiler would ask for it next. Asks the caller no further questions.
[[nodiscard]] std::optional<Error> FilesNeededFor(const ClosureEntry& entry, RequesterFiles& files);

/// Like FilesNeededFor of one entry, for the first changed name of a closure. Returns none if the
/// whole closure is true.
[[nodiscard]] std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files);

/// Maps each inode to its first index in a closure.
using InodePlaces = std::map<std::pair<uint64_t, uint64_t>, uint32_t>;
/// Like FirstUntrue above; `places` receives the inodes found up to the returned index.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose,
                                 InodePlaces* places);

}  // namespace cccl_cache::daemon
