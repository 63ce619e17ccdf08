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

/// The answer to a compiler about one name.
struct ClosureEntry {
  FileName name;
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< set where HasDigest says so; else zero
  /// Set where HasInode says so: the index in the closure of the first entry that is the same
  /// inode, or its own index. `#pragma once` treats hard links and symlinks as one file, but not
  /// copies.
  uint32_t same_as = 0;

  bool operator==(const ClosureEntry&) const = default;
};

/// All answers to a compiler about files, in the order of its first questions. Of the toolchain's
/// own headers it holds what the compiler may have read: whole directories.
struct Closure {
  std::vector<ClosureEntry> entries;

  bool operator==(const Closure&) const = default;
};

/// The most names, and bytes of names, that one compiler is answered about. A whole CCCL tree has
/// 2,000 names. A closure read from a disk or a file has the same bounds.
inline constexpr size_t kMaxClosureNames = 100'000;
inline constexpr uint64_t kMaxClosureNameBytes = 16u << 20;

/// Returns the bytes that it takes in memory.
[[nodiscard]] uint64_t BytesOf(const Closure& closure);

/// Returns whether it holds only the toolchain's headers. Whether such a closure is true depends on
/// the toolchain alone and not on the requester.
[[nodiscard]] bool IsOfToolchain(const Closure& closure);

/// Returns the key, which names exactly one artifact. For a closure without entries it is
/// KeyWithoutClosure.
[[nodiscard]] Digest KeyOf(const Digest& fingerprint, const Closure& closure);

/// The user whose build had a closure: the requester's own user, or another.
///
/// A caller that sends its files is asked for all names of its own user's closures together. Names
/// of others' closures are asked one after the other, up to the first that differs. Their contents
/// are asked only once all names before are true. So others' closures neither tell the caller other
/// users' names nor make it open files that its own compile would not ask for
/// (docs/internals/decisions/0015).
enum class ClosureOf { kRequester, kOthers };

/// Returns the index of the first entry that does not match these files, or could not be looked at.
/// Returns closure.entries.size() if the whole closure is true. Blocks as long as the disk does.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose);

/// Returns the error if only the caller can tell what lies under this name. If all names before it
/// are as they were, the compiler would ask for it next. Asks a caller nothing that it was not
/// asked before.
[[nodiscard]] std::optional<Error> FilesNeededFor(const ClosureEntry& entry, RequesterFiles& files);

/// The same for the first name of a closure that is not as it was. Returns none if the whole
/// closure is true.
[[nodiscard]] std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files);

/// Maps each inode to the first index in a closure where it stands.
using InodePlaces = std::map<std::pair<uint64_t, uint64_t>, uint32_t>;
/// The same; `places` receives the inodes found up to the returned index.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose,
                                 InodePlaces* places);

}  // namespace cccl_cache::daemon
