// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cccl_cache {

// A client can prove that it has all rights of the daemon's process by sending a secret. The secret
// is part of the name of a memfd that the daemon has open. The kernel shows this name only to
// processes that may inspect the daemon's process (docs/internals/decisions/0066).

/// The number of the daemon's descriptor of that file.
inline constexpr int kRightsDescriptor = 64;
/// The name of the call's metadata field that holds the secret in hexadecimal.
inline constexpr std::string_view kRightsField = "cccl-rights";
/// The name of the memfd is this prefix followed by the secret in hexadecimal.
inline constexpr std::string_view kRightsFile = "cccl-cached:";

/// Returns the secret, in hexadecimal, from the target of a symlink /proc/PID/fd/N. Returns "" if
/// the target is not a memfd with such a name.
[[nodiscard]] inline std::string_view RightsIn(std::string_view link) {
  constexpr std::string_view kMemory = "/memfd:";
  constexpr size_t kDigits = 64;
  if (!link.starts_with(kMemory)) return {};
  link.remove_prefix(kMemory.size());
  if (!link.starts_with(kRightsFile)) return {};
  const std::string_view secret = link.substr(kRightsFile.size(), kDigits);
  const bool whole = secret.size() == kDigits &&
                     secret.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return whole ? secret : std::string_view();
}

}  // namespace cccl_cache
