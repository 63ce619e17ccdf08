// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "proto/digest.h"
#include "proto/options/options.h"
#include "proto/request.h"

namespace cccl_cache {

/// Version of the hashed layout below. A change of what is hashed, or of its meaning, bumps it.
inline constexpr uint32_t kFingerprintLayout = 2;

/// One directory in which an NVRTC build looks for headers, as the fingerprint sees it: known by
/// its place in the order, not by its path.
struct FingerprintRoot {
  /// Place inside the chosen toolchain ("include/cccl"), or empty: a directory from elsewhere.
  std::string toolchain_directory;
  /// The path as the client named it; hashed only if the build is path-dependent.
  std::string path;
};

/// All that the fingerprint of a request depends on. References must outlive the call.
struct FingerprintInput {
  const BuildRequest& request;
  /// Identity of the part of the toolchain that this kind of build uses.
  const Digest& toolchain;
  const std::vector<ParsedOption>& options;
  /// NVRTC only: the program's directory, each -I, then the toolchain's own, in search order.
  const std::vector<FingerprintRoot>& roots;
  /// NVRTC only: the output can show where source and headers lie.
  bool path_dependent = false;
};

/// Returns the hash of the request. It contains nothing about the caller.
[[nodiscard]] Digest Fingerprint(const FingerprintInput& input);

/// The fingerprint of an NVRTC build some of whose roots are one directory, which compilers notice.
/// `first_same`: for each root, in search order, the place of the first one that is the same.
[[nodiscard]] Digest FingerprintWithTwins(const Digest& fingerprint,
                                          const std::vector<size_t>& first_same);

/// The key of the artifact of a build that was given no file from outside the request.
[[nodiscard]] Digest KeyWithoutClosure(const Digest& fingerprint);

/// One name that the compiler was answered about, or one entry of the toolchain's headers.
struct ClosureRecord {
  uint32_t root = 0;      ///< in search order; the largest numbers stand for no root
  std::string_view name;  ///< below the root
  uint8_t kind = 0;       ///< absent, file, directory, the toolchain's: 0, 1, 2, 3
  Digest digest;          ///< of a file's contents, or of all that lies in the entry
  uint32_t same_as = 0;   ///< place of the first record of the same inode
};

/// The key of the artifact of a build that was given these, in the order in which it asked.
[[nodiscard]] Digest KeyWithClosure(const Digest& fingerprint,
                                    const std::vector<ClosureRecord>& records);

/// The value for `-frandom-seed`, derived from the request's own bytes only (never the toolchain's
/// id), so that a client which compiles by itself arrives at the same bytes.
[[nodiscard]] std::string RandomSeed(const NvrtcProgram& program,
                                     const std::vector<ParsedOption>& options);

}  // namespace cccl_cache
