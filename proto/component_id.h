// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns the id of a compiler library in a toolchain (docs/internals/protocol.md). `library` and
/// `builtins` are the SHA-256 of its files. Only libnvrtc has a file with builtins.
[[nodiscard]] Digest ComponentId(const Digest& library, const std::optional<Digest>& builtins);

/// Returns a digest of the stamps (StampReader::TextOf) of files. Their order matters: the stamp of
/// a library comes before that of its builtins.
[[nodiscard]] Digest DigestOfStamps(std::span<const std::string> stamps);

/// A client may name a library instead of a whole toolchain in ToolchainSelector::id, as
/// "library:S,C". S is DigestOfStamps() of the library's files and C is ComponentId(), both in
/// hexadecimal. One of them may be empty. A daemon that does not know this form refuses such an id.
inline constexpr std::string_view kLibraryMark = "library:";

}  // namespace cccl_cache
