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

/// Version of the hashed layout below. Increase it with every change of the hashed values or their
/// meaning.
inline constexpr uint32_t kFingerprintLayout = 2;

/// One directory in which an NVRTC build looks for headers, as the fingerprint covers it: by its
/// place in the search order, not by its path.
struct FingerprintRoot {
  /// Place inside the toolchain ("include/cccl"); empty: a directory outside the toolchain.
  std::string toolchain_directory;
  /// The path as the client named it; hashed only if the build is path-dependent.
  std::string path;
};

/// All inputs of a request's fingerprint. References must outlive the call.
struct FingerprintInput {
  const BuildRequest& request;
  /// Digest of the part of the toolchain that this kind of build uses.
  const Digest& toolchain;
  const std::vector<ParsedOption>& options;
  /// NVRTC only: the program's directory, each -I, then the toolchain's own, in search order.
  const std::vector<FingerprintRoot>& roots;
  /// NVRTC only: the output can show the paths of source and headers.
  bool path_dependent = false;
};

/// Returns the hash of the request. It contains nothing about the caller.
[[nodiscard]] Digest Fingerprint(const FingerprintInput& input);

/// Returns the fingerprint of an NVRTC build some of whose roots are the same directory, which
/// compilers notice. `first_same`: for each root, in search order, the index of the first equal
/// one.
[[nodiscard]] Digest FingerprintWithTwins(const Digest& fingerprint,
                                          const std::vector<size_t>& first_same);

/// Returns the artifact's key of a build that read no file outside the request.
[[nodiscard]] Digest KeyWithoutClosure(const Digest& fingerprint);

/// The answer about one name, or one entry of the toolchain's headers.
struct ClosureRecord {
  uint32_t root = 0;      ///< in search order; the largest numbers stand for no root
  std::string_view name;  ///< below the root
  uint8_t kind = 0;       ///< absent, file, directory, the toolchain's: 0, 1, 2, 3
  Digest digest;          ///< of a file's contents, or of all that lies in the entry
  uint32_t same_as = 0;   ///< index of the first record with the same inode
};

/// Returns the artifact's key of a build with these answers, in the order of its questions.
[[nodiscard]] Digest KeyWithClosure(const Digest& fingerprint,
                                    const std::vector<ClosureRecord>& records);

/// Returns the value for `-frandom-seed`. It depends on the request's own bytes only (never on the
/// toolchain's id), so that a client which compiles by itself gets the same bytes.
[[nodiscard]] std::string RandomSeed(const NvrtcProgram& program,
                                     const std::vector<ParsedOption>& options);

}  // namespace cccl_cache
