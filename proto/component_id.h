// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "proto/digest.h"

namespace cccl_cache {

/// Returns the id of a toolchain's component (docs/internals/protocol.md) by the SHA-256 of its
/// files: of libnvJitLink, or of libnvrtc and its builtins.
[[nodiscard]] Digest ComponentId(const Digest& library, const std::optional<Digest>& builtins);

/// Returns the digest for files with these stamps (StampReader::TextOf), in this order: of a
/// component, the library before its builtins.
[[nodiscard]] Digest DigestOfStamps(std::span<const std::string> stamps);

/// Instead of a toolchain's id, a build may name one of its libraries: this mark, DigestOfStamps, a
/// comma, and ComponentId. Either digest may be empty. A daemon that does not know the mark refuses
/// such an id.
inline constexpr std::string_view kLibraryMark = "library:";

}  // namespace cccl_cache
