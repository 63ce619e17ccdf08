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

/// One file name that a compiler asked for, and the answer.
struct ClosureEntry {
  FileName name;
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< set if HasDigest(kind), else zero
  /// If HasInode(kind), the index of the first entry in the closure with the same inode, which may
  /// be this entry. Needed because `#pragma once` treats hard links and symlinks as one file, but
  /// copies as several.
  uint32_t same_as = 0;

  bool operator==(const ClosureEntry&) const = default;
};

/// All answers about files that a compiler got in one build, in the order of its first questions.
/// For the toolchain's headers, an entry may stand for a whole directory that the compiler may have
/// read.
struct Closure {
  std::vector<ClosureEntry> entries;

  bool operator==(const Closure&) const = default;
};

/// Limits of one closure: the number of its names, and their total length in bytes. They apply both
/// to recorded and to decoded closures. A whole CCCL tree has 2,000 names.
inline constexpr size_t kMaxClosureNames = 100'000;
inline constexpr uint64_t kMaxClosureNameBytes = 16u << 20;

/// Returns the closure's size in memory.
[[nodiscard]] uint64_t BytesOf(const Closure& closure);

/// Returns whether all entries are headers of the toolchain. Whether such a closure still holds
/// depends only on the toolchain, not on the requester's files.
[[nodiscard]] bool IsOfToolchain(const Closure& closure);

/// Returns the artifact's key. For a closure without entries it is KeyWithoutClosure.
[[nodiscard]] Digest KeyOf(const Digest& fingerprint, const Closure& closure);

/// Whose build recorded a closure: a build of the requester's user, or one of another user.
///
/// The daemon may have to ask the caller about its files. For a closure of the caller's own user,
/// it asks for all names at once. For a closure of another user, it asks for one name after
/// another, until an answer differs. It asks for contents only if all earlier answers agree. A
/// closure of another user thus discloses no names to the caller, and does not make it open files
/// that its own compile would not open (docs/internals/decisions/0015).
enum class ClosureOf { kRequester, kOthers };

/// Returns the index of the first entry whose answer differs for these files, or whose file can't
/// be read. Returns closure.entries.size() if there is none. May wait for a file system.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose);

/// Returns the error kFilesNeeded if only the caller can look up the entry's name, else none. To be
/// called for an entry that FirstUntrue() returned: if all answers before it agree, the compiler
/// would ask for this name next. Asks the caller no further questions.
[[nodiscard]] std::optional<Error> FilesNeededFor(const ClosureEntry& entry, RequesterFiles& files);

/// Like the function above, for the first entry of the closure whose answer differs. Returns none
/// if there is none.
[[nodiscard]] std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files);

/// Maps each inode to its first index in a closure.
using InodePlaces = std::map<std::pair<uint64_t, uint64_t>, uint32_t>;
/// Like FirstUntrue above; `places` receives the inodes found up to the returned index.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose,
                                 InodePlaces* places);

}  // namespace cccl_cache::daemon
