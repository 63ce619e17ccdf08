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

/// The kind of a difference. The values are sent over the wire: they never change, and equal those
/// in admin.proto.
enum class DifferenceField : uint8_t {
  kOption = 1,
  kHeader = 2,  ///< a header that the compiler read from a file, or that belongs to the toolchain
  kToolchain = 3,
  kSource = 4,
  kNameExpression = 5,
  kInlineHeader = 6,
  kInput = 7,  ///< an input of a link, or a module of libNVVM
  kDirectory = 8,
  kProgramName = 9,
};

/// One point in which a build differs from an earlier one.
struct Difference {
  DifferenceField field = DifferenceField::kOption;
  std::string name;  ///< name of the option, header or input; for a file, the path that the client
                     ///< uses
  /// The earlier and the later state: the text of an option, a digest in hexadecimal, "absent" or
  /// "a directory". `was` is empty if only the later build has it; `is` is empty if only the
  /// earlier build has it.
  std::string was;
  std::string is;
  uint64_t was_lines = 0;  ///< number of lines, for sources and inline headers only
  uint64_t is_lines = 0;

  bool operator==(const Difference&) const = default;
};

/// Returns the differences of the build `is` from the earlier build `was`: options first, header
/// files last. Header files are compared only if the closures of both builds are known.
[[nodiscard]] std::vector<Difference> Differences(const PastBuild& was, const PastBuild& is);

/// Returns a sentence for the user that says why the location of directories matters: which options
/// make the output contain paths. Empty if `differences` has no directory, or if the output of one
/// of the builds contains no paths.
[[nodiscard]] std::string WhyPathsCount(const PastBuild& was, const PastBuild& is,
                                        std::span<const Difference> differences);

/// Returns the build that differs least from `build`, or null. `builds` must begin with the newest;
/// the newest of equally similar builds is returned. Only cached builds of the same kind are
/// considered, and only if they have the same program name or source, or a common input.
[[nodiscard]] PastBuildPtr Nearest(std::span<const PastBuildPtr> builds, const PastBuild& build);

/// Compares the closure of a past build with the files as they are now. Returns at most `most`
/// differences. Reads files, and so may block as long as the file system does.
[[nodiscard]] std::vector<Difference> FilesChangedSince(const PastBuild& was, RequesterFiles& files,
                                                        size_t most);

}  // namespace cccl_cache::daemon
