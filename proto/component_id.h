// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns the id of a compiler library in a toolchain (docs/internals/protocol.md). `library` is
/// the SHA-256 of its file. `used` is that of the file that it uses: the builtins of libnvrtc, or,
/// with kUsedLibdevice as its name, the libdevice of libnvvm. libnvJitLink uses none.
inline constexpr std::string_view kUsedBuiltins = "builtins";
inline constexpr std::string_view kUsedLibdevice = "libdevice";
[[nodiscard]] Digest ComponentId(const Digest& library, const std::optional<Digest>& used,
                                 std::string_view used_name = kUsedBuiltins);

/// Returns a digest of the stamps (StampReader::TextOf) of files. Their order matters: the stamp of
/// a library comes before that of the file that it uses.
[[nodiscard]] Digest DigestOfStamps(std::span<const std::string> stamps);

/// A client may name a library instead of a whole toolchain in ToolchainSelector::id, as
/// "library:S,C". S is DigestOfStamps() of the library's files and C is ComponentId(), both in
/// hexadecimal. One of them may be empty. A daemon that does not know this form refuses such an id.
inline constexpr std::string_view kLibraryMark = "library:";

}  // namespace cccl_cache
