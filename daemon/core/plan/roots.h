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

/// The working directory that compilers see.
inline constexpr std::string_view kCanonicalWorkingDirectory = "/cccl-work";

/// One directory in which an NVRTC build looks for headers. Root 0 is the directory of the
/// program's name. Each -I follows, then the toolchain's headers if the client asked for them.
struct Root {
  FingerprintRoot fingerprint;
  Mount mount;  ///< an empty target: there is none (a relative name without a working directory)
  std::string for_compiler;   ///< the value of --include-path; empty for root 0
  std::string client_prefix;  ///< prefix of the client's own names in it
};

struct RootLayout {
  bool path_dependent = false;
  /// The client's view of the file system differs from the daemon's, so its paths never mean a
  /// toolchain's directories.
  bool elsewhere = false;
};

/// Returns the roots of an NVRTC build in search order. A toolchain's directories are recognised by
/// their paths alone. The disk is not read: it may hang, and users may see different files.
[[nodiscard]] std::vector<Root> LayOutRoots(const BuildRequest& request,
                                            const std::vector<ParsedOption>& options,
                                            const Toolchain& toolchain, const RootLayout& layout);

/// Returns the program's name, or NVRTC's default for a program without one.
[[nodiscard]] std::string_view ProgramName(const NvrtcProgram& program);

/// Returns the compiler's text with the client's own names in place of the canonical ones.
[[nodiscard]] std::string WithClientNames(const BuildPlan& plan, std::string_view text);

/// Returns whether a cubin or PTX has canonical names, so that it shows paths in a way that the
/// plan did not foresee.
[[nodiscard]] bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact);

/// A text to look for in a compiler's output, verbatim or as PTX writes string constants.
/// Immutable.
class ShownText {
 public:
  explicit ShownText(std::string_view text);

  /// Returns whether a cubin or PTX has the text. (LTO-IR and OptiX-IR always have the compiler's
  /// names, which mean nothing.)
  [[nodiscard]] bool In(const Artifact& artifact) const;
  /// Returns whether a string constant of PTX has the text; its characters are numbers there.
  [[nodiscard]] bool InStrings(const Artifact& artifact) const;

 private:
  const std::string text_;
  const std::string numbers_;
  const std::string dense_numbers_;
};

}  // namespace cccl_cache::daemon
