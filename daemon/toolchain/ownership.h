// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace cccl_cache::daemon {

/// What a directory or file is on the way to a toolchain.
enum class PathRole : uint8_t {
  kPassedThrough,  ///< a directory above; one with the sticky bit (/tmp) may be writable by all
  kHolder,         ///< a directory whose entries count: nobody else may add one
  kFile,
};

/// Why others than root and `own_uid` could change it, and the way out; nothing if they can't.
///
/// In a sticky directory only the owner of an entry, of the directory, or root may rename or remove
/// the entry. So an entry of ours in such a directory of ours is as safe as elsewhere, but anybody
/// may add entries: such a directory may be passed through and can't hold what is looked up by
/// listing. Write permission by an access control list shows in the group's bits, so it needs no
/// look of its own.
[[nodiscard]] std::optional<std::string> WhyNotTrusted(const std::string& path,
                                                       const struct stat& status, PathRole role,
                                                       uid_t own_uid);

}  // namespace cccl_cache::daemon
