// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/model/artifact.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/toolchain.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/fingerprint.h"
#include "proto/options/options.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// The working directory that compilers see instead of the client's.
inline constexpr std::string_view kCanonicalWorkingDirectory = "/cccl-work";

/// One directory in which an NVRTC build looks for headers. Root 0 is the directory of the
/// program's name. The directory of each -I follows, then the toolchain's header directories if the
/// client asked for them.
struct Root {
  FingerprintRoot fingerprint;
  Mount mount;  ///< the target is empty if the path is relative and there is no working directory
  std::string for_compiler;   ///< the value of --include-path; empty for root 0
  std::string client_prefix;  ///< the prefix that the client's names of files in this root have
};

struct RootLayout {
  bool path_dependent = false;
  /// Whether the client's view of the file system differs from the daemon's. The client's paths are
  /// then never taken for directories of a toolchain.
  bool elsewhere = false;
};

/// Returns the roots of an NVRTC build in search order. The directories of a toolchain are
/// recognised by their paths alone. The disk is not read, because it may hang and users may see
/// different files.
[[nodiscard]] std::vector<Root> LayOutRoots(const BuildRequest& request,
                                            const std::vector<ParsedOption>& options,
                                            const Toolchain& toolchain, const RootLayout& layout);

/// Returns whether a root or the working directory is this directory of a client, or in it.
[[nodiscard]] bool HoldsRoot(std::string_view directory, std::string_view working_directory,
                             const std::vector<Root>& roots);

/// Returns the program's name, or NVRTC's default for a program without one.
[[nodiscard]] std::string_view ProgramName(const NvrtcProgram& program);

/// Returns a text of the compiler in which canonical names (/cccl-root-N/...) are replaced by the
/// client's own names.
[[nodiscard]] std::string WithClientNames(const BuildPlan& plan, std::string_view text);

/// Returns whether a cubin or PTX contains canonical names (/cccl-root-N/...). If so, the output
/// shows paths although the plan did not expect that.
[[nodiscard]] bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact);

/// A text that is searched for in a compiler's output. PTX may contain it verbatim or as a string
/// constant, which is a list of numbers. Immutable.
class ShownText {
 public:
  explicit ShownText(std::string_view text);

  /// Returns whether a cubin or PTX contains the text. LTO-IR and OptiX-IR are not searched: they
  /// always contain the compiler's file names, so a match would prove nothing.
  [[nodiscard]] bool In(const Artifact& artifact) const;
  /// Returns whether a string constant of PTX contains the text, as a list of character codes.
  [[nodiscard]] bool InStrings(const Artifact& artifact) const;

 private:
  const std::string text_;
  const std::string numbers_;
  const std::string dense_numbers_;
};

}  // namespace cccl_cache::daemon
