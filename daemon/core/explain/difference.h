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

/// Sent over the wire: values never change, and are those in admin.proto.
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
  std::string name;  ///< which option, header, input; a path as the client names it
  /// An option's text, a digest in hexadecimal, "absent", "a directory"; empty: there was none.
  std::string was;
  std::string is;
  uint64_t was_lines = 0;  ///< of a source or inline header
  uint64_t is_lines = 0;

  bool operator==(const Difference&) const = default;
};

/// Returns in what `is` differs from the earlier build `was`, the lightest difference first.
/// Compares headers only if both closures are known.
[[nodiscard]] std::vector<Difference> Differences(const PastBuild& was, const PastBuild& is);

/// Returns why paths are among these differences: which options of `is` make its output show them.
/// Empty if no directory is among them, or if one of the outputs does not show paths.
[[nodiscard]] std::string WhyPathsCount(const PastBuild& was, const PastBuild& is,
                                        std::span<const Difference> differences);

/// Returns, of these builds, the newest first, the one that `build` differs least from, or null if
/// there is none. Only a build that was kept and resembles it counts: of the same kind, with the
/// same program name or contents.
[[nodiscard]] PastBuildPtr Nearest(std::span<const PastBuildPtr> builds, const PastBuild& build);

/// Returns in what these files differ from the past build's closure: at most `most` differences.
/// Blocks as long as the disk does.
[[nodiscard]] std::vector<Difference> FilesChangedSince(const PastBuild& was, RequesterFiles& files,
                                                        size_t most);

/// Returns in what the directories of two builds differ as far as their fingerprints know them.
/// Paths are compared only if both outputs show paths. The search orders are compared as sequences:
/// a directory that was added or removed is reported by its own name, and those that follow it are
/// not. A working directory that differs is reported once, and not again for each directory below
/// it. Pure.
[[nodiscard]] std::vector<Difference> DirectoryDifferences(const PastBuild& was,
                                                           const PastBuild& is);

}  // namespace cccl_cache::daemon
