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

/// One directory in which an NVRTC build searches for headers. The fingerprint has its place in the
/// search order, but not its path, so that equal builds in different directories share artifacts.
struct FingerprintRoot {
  /// For a directory of the toolchain, its path inside the toolchain ("include/cccl"). Otherwise
  /// empty.
  std::string toolchain_directory;
  /// The path as the client named it. Empty if the client named a relative path without a working
  /// directory. Hashed only if the build is path-dependent.
  std::string path;
};

/// All inputs of a request's fingerprint. References must outlive the call.
struct FingerprintInput {
  const BuildRequest& request;
  /// The digest of those files of the toolchain that builds of this kind use.
  const Digest& toolchain;
  const std::vector<ParsedOption>& options;
  /// For NVRTC: the search path. It begins with the program's directory, then has the directories
  /// of all -I options, then those of the toolchain.
  const std::vector<FingerprintRoot>& roots;
  /// For NVRTC: whether the output can depend on the paths of the source and the headers.
  bool path_dependent = false;
};

/// Returns the digest of the request. It does not depend on the user or process that made the
/// request.
[[nodiscard]] Digest Fingerprint(const FingerprintInput& input);

/// Returns the fingerprint of an NVRTC build in which several roots are the same directory. The
/// compiler notices this, for example by `#pragma once`, so the output may differ. `first_same`
/// has, for each root in search order, the index of the first root that is the same directory.
[[nodiscard]] Digest FingerprintWithTwins(const Digest& fingerprint,
                                          const std::vector<size_t>& first_same);

/// Returns the key of the artifact of a build that read no files except those in the request.
[[nodiscard]] Digest KeyWithoutClosure(const Digest& fingerprint);

/// The compiler's answer for one file name, or one file or directory among the toolchain's headers.
struct ClosureRecord {
  uint32_t root = 0;      ///< index in the search path, or a special number (requester_files.h)
  std::string_view name;  ///< path relative to the root
  uint8_t kind = 0;       ///< 0: absent, 1: file, 2: directory, 3: of the toolchain's headers
  Digest digest;          ///< digest of the contents; for a directory of kind 3, of all files in it
  uint32_t same_as = 0;   ///< index of the first record with the same inode
};

/// Returns the key of the artifact of a build that got these answers. They are in the order in
/// which the compiler asked for the names.
[[nodiscard]] Digest KeyWithClosure(const Digest& fingerprint,
                                    const std::vector<ClosureRecord>& records);

/// Returns the value for the option `-frandom-seed`. It depends only on the program and its
/// options, not on the toolchain, so that a client that compiles by itself gets the same output.
[[nodiscard]] std::string RandomSeed(const NvrtcProgram& program,
                                     const std::vector<ParsedOption>& options);

}  // namespace cccl_cache
