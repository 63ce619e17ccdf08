// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cccl_cache {

// A client proves by a secret that it has all rights of the daemon's process. The secret is part of
// the name of a memory file that the daemon has open. The kernel shows the name only to processes
// that may inspect the daemon's process (docs/internals/decisions/0066).

/// The number of the daemon's descriptor of that file.
inline constexpr int kRightsDescriptor = 64;
/// The header of a call with the secret, in hexadecimal.
inline constexpr std::string_view kRightsField = "cccl-rights";
/// The file's name is this prefix and the secret.
inline constexpr std::string_view kRightsFile = "cccl-cached:";

/// Returns the secret in the target of the link /proc/PID/fd/N; empty: it is another file.
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
