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

/// One name that a compiler was answered about.
struct ClosureEntry {
  FileName name;
  FileKind kind = FileKind::kAbsent;
  Digest digest;  ///< where HasDigest says so; else zero
  /// Where HasInode says so: place in the closure of the first entry that is the same inode, its
  /// own if there is none earlier. `#pragma once` joins hard links and symlinks, not copies.
  uint32_t same_as = 0;

  bool operator==(const ClosureEntry&) const = default;
};

/// All that a compiler was answered about files, in the order in which it asked first. Of the
/// toolchain's own headers it holds what the compiler may have read: whole directories.
struct Closure {
  std::vector<ClosureEntry> entries;

  bool operator==(const Closure&) const = default;
};

/// So many names a compiler is answered about at the most, and so many bytes of names: a whole CCCL
/// tree has 2,000. What is read from a disk or a file holds no more either.
inline constexpr size_t kMaxClosureNames = 100'000;
inline constexpr uint64_t kMaxClosureNameBytes = 16u << 20;

/// What it takes in memory.
[[nodiscard]] uint64_t BytesOf(const Closure& closure);

/// Whether it holds nothing but the toolchain's headers: true of a toolchain or not, whoever asks.
[[nodiscard]] bool IsOfToolchain(const Closure& closure);

/// Names exactly one artifact. Of a closure without entries: KeyWithoutClosure.
[[nodiscard]] Digest KeyOf(const Digest& fingerprint, const Closure& closure);

/// The user whose build had a closure. A caller that sends its files is asked for all names of its
/// user's closures together. Of others' closures it is asked for one name after the other, up to
/// the first that differs, and for contents only once all names before are true: so they neither
/// tell it other users' names nor have it open files that its own compile would not ask for
/// (trust.md, 6).
enum class ClosureOf { kRequester, kOthers };

/// The first entry that is not so in these files, or could not be looked at; its index.
/// closure.entries.size(): all of it is true. Blocks as long as the disk does.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose);

/// The error, if only the caller can tell what lies under this name: what was answered as before up
/// to it would be asked for it next. Asks a caller nothing that it was not asked before.
[[nodiscard]] std::optional<Error> FilesNeededFor(const ClosureEntry& entry, RequesterFiles& files);

/// The same for the first name of a closure that is not as it was. None: all of it is true.
[[nodiscard]] std::optional<Error> FilesNeededFor(const Closure& closure, RequesterFiles& files);

/// Inodes, and the first place in a closure where each stands.
using InodePlaces = std::map<std::pair<uint64_t, uint64_t>, uint32_t>;
/// The same; `places` is what was found up to there.
[[nodiscard]] size_t FirstUntrue(const Closure& closure, RequesterFiles& files, ClosureOf whose,
                                 InodePlaces* places);

}  // namespace cccl_cache::daemon
