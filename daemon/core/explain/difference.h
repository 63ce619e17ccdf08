// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/core/lookup/history.h"
#include "daemon/core/model/requester_files.h"

namespace cccl_cache::daemon {

/// Sent over the wire: values never change, and equal those in admin.proto.
enum class DifferenceField : uint8_t {
  kOption = 1,
  kHeader = 2,  ///< a file from outside the request, or an entry of the toolchain's headers
  kToolchain = 3,
  kSource = 4,
  kNameExpression = 5,
  kInlineHeader = 6,
  kInput = 7,  ///< of a link, or a module of libNVVM
  kDirectory = 8,
  kProgramName = 9,
};

/// One point in which a build differs from an earlier one.
struct Difference {
  DifferenceField field = DifferenceField::kOption;
  std::string name;  ///< option, header or input; a path as the client names it
  /// An option's text, a digest in hexadecimal, "absent", "a directory"; empty: there was none.
  std::string was;
  std::string is;
  uint64_t was_lines = 0;  ///< of a source or inline header
  uint64_t is_lines = 0;

  bool operator==(const Difference&) const = default;
};

/// Returns the differences of `is` from the earlier build `was`, the smallest first. Compares
/// headers only if both closures are known.
[[nodiscard]] std::vector<Difference> Differences(const PastBuild& was, const PastBuild& is);

/// Returns the options of `is` that make its output show paths, if directories are among these
/// differences. Empty if there are none, or if one of the outputs shows no paths.
[[nodiscard]] std::string WhyPathsCount(const PastBuild& was, const PastBuild& is,
                                        std::span<const Difference> differences);

/// Returns the most similar of these builds (newest first), or null. Only kept builds of the same
/// kind with the same program name or contents are considered.
[[nodiscard]] PastBuildPtr Nearest(std::span<const PastBuildPtr> builds, const PastBuild& build);

/// Returns at most `most` differences between these files and the past build's closure. Blocks as
/// long as the disk does.
[[nodiscard]] std::vector<Difference> FilesChangedSince(const PastBuild& was, RequesterFiles& files,
                                                        size_t most);

}  // namespace cccl_cache::daemon
