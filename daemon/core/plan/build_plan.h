// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/closure/closure_recorder.h"
#include "daemon/core/closure/path_uses.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/fingerprint.h"
#include "proto/options/options.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// Everything that follows from a request and the toolchain that serves it, before any look-up.
struct BuildPlan {
  Digest fingerprint;  ///< covers the compiler's own files, not the toolchain's headers
  Digest key;          ///< the artifact's key with an empty closure: if no file is read
  /// Hash of the fingerprint and, where a compiler reads headers, of all the toolchain's headers.
  /// Builds with the same flight are the same as long as nothing comes from outside.
  Digest flight;
  /// Hash of the paths where this requester's files lie, of the requester's uid and of its view of
  /// the file system. A result that was made from the files of one build answers another build only
  /// if these agree, or after a check.
  Digest view;
  /// The same without the program's own directory.
  Digest view_beside_program;
  bool includes_outside = false;           ///< an -I names a directory outside the toolchain
  RootDirectories directories;             ///< where the requester's files lie
  std::vector<VisibleRoot> visible_roots;  ///< where the compiler sees them
  CompileJob job;
  /// The compiler sees the real paths, and the fingerprint covers them.
  bool path_dependent = false;
  bool base_name_token = false;    ///< __BASE_FILE__ stands in the request, or can be pasted
  bool function_token = false;     ///< the same for __PRETTY_FUNCTION__
  std::string uncacheable_reason;  ///< empty: cacheable as far as the request tells
  /// For each root: the prefix of the client's own names, where the compiler's names begin with
  /// /cccl-root-N/.
  std::vector<std::string> client_prefixes;
  // The inputs of the fingerprint besides the request.
  std::vector<ParsedOption> options;
  std::vector<FingerprintRoot> fingerprint_roots;
};

struct PlanOptions {
  uid_t uid = 0;                      ///< the requester
  bool force_path_dependent = false;  ///< an earlier compile showed that the output holds paths
  /// The daemon's own view of the file system. A client with another view has no directories of the
  /// toolchain's, because its paths mean something else. None: unknown, and every client counts as
  /// having the same view.
  std::optional<FilesView> own_view = std::nullopt;
};

/// Returns the plan: applies the option rules, lays out the roots, computes the fingerprint.
/// kInvalidRequest names the field or option. Pure.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// Returns the uses of paths in all texts of the plan's request, which concern those in its files.
[[nodiscard]] PathUses PathUsesOf(const BuildPlan& plan);

/// Returns the options that the compiler applies: the request's own, then those that NVRTC takes
/// from the environment.
[[nodiscard]] std::vector<std::string> OptionsOf(const BuildRequest& request);

/// Returns kInvalidRequest, which names the text, if NVRTC would not read a text to its end.
[[nodiscard]] Status CheckTexts(const BuildRequest& request);

}  // namespace cccl_cache::daemon
