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

/// Sent: values never change; the same numbers as in admin.proto.
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

/// In what one build is another than an earlier one.
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

/// In what `is` differs from the build that `was`, the lightest first. Headers only if both
/// closures are known.
[[nodiscard]] std::vector<Difference> Differences(const PastBuild& was, const PastBuild& is);

/// Why paths are among these differences: which options of `is` have its output show them. Empty if
/// no directory is among them, or if one of the outputs does not.
[[nodiscard]] std::string WhyPathsCount(const PastBuild& was, const PastBuild& is,
                                        std::span<const Difference> differences);

/// Of these builds, the newest first, the one that `build` differs least from. Only what was kept
/// and resembles it counts: the same kind with the same program name or contents. Null if there is
/// none.
[[nodiscard]] PastBuildPtr Nearest(std::span<const PastBuildPtr> builds, const PastBuild& build);

/// What of the past build's closure is not so in these files, at most `most`. Blocks as long as the
/// disk does.
[[nodiscard]] std::vector<Difference> FilesChangedSince(const PastBuild& was, RequesterFiles& files,
                                                        size_t most);

/// In what the directories of two builds differ as far as their fingerprints know them: by their
/// paths only where both outputs show paths. The search orders are compared as sequences: one that
/// is there in addition, or not any more, is told by its own name, what follows it is not. A
/// working directory that differs is told once, and not again for each directory below it. Pure.
[[nodiscard]] std::vector<Difference> DirectoryDifferences(const PastBuild& was,
                                                           const PastBuild& is);

}  // namespace cccl_cache::daemon
