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

/// Everything that follows from a request and its toolchain before any look-up.
struct BuildPlan {
  Digest fingerprint;  ///< covers the compiler's own files, not the toolchain's headers
  Digest key;          ///< the artifact's key with an empty closure, for a build that reads no file
  /// Hash of the fingerprint and, if the compiler reads headers, of all the toolchain's headers.
  /// Builds with equal hashes are the same as long as they read no files outside the toolchain.
  Digest flight;
  /// Hash of the requester's directories, its uid and its view of the file system. The result of
  /// one build that read files answers another one only if their hashes are equal, or after a check
  /// of the files.
  Digest view;
  /// Like `view`, without the program's own directory.
  Digest view_beside_program;
  bool includes_outside = false;           ///< an -I is outside the toolchain
  RootDirectories directories;             ///< where the requester's files lie
  std::vector<VisibleRoot> visible_roots;  ///< where the compiler sees them
  CompileJob job;
  /// The compiler sees the real paths, and the fingerprint covers them.
  bool path_dependent = false;
  bool base_name_token = false;    ///< __BASE_FILE__ is in the request, or can be pasted
  bool function_token = false;     ///< __PRETTY_FUNCTION__ is in the request, or can be pasted
  std::string uncacheable_reason;  ///< empty: cacheable, as far as the request shows
  /// For each root: the prefix of the client's own names, which the compiler sees as /cccl-root-N/.
  std::vector<std::string> client_prefixes;
  // Inputs of the fingerprint besides the request.
  std::vector<ParsedOption> options;
  std::vector<FingerprintRoot> fingerprint_roots;
};

struct PlanOptions {
  uid_t uid = 0;                      ///< the requester
  bool force_path_dependent = false;  ///< an earlier compile showed paths in the output
  /// The daemon's own view of the file system. If a client has another view, its paths never mean
  /// the toolchain's directories. None: unknown, and all clients are assumed to have the same view.
  std::optional<FilesView> own_view = std::nullopt;
};

/// Returns the plan: applies the option rules, lays out the roots, computes the fingerprint.
/// kInvalidRequest names the field or option. Pure.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// Returns the uses of paths in all texts of the request; they also affect the paths in its files.
[[nodiscard]] PathUses PathUsesOf(const BuildPlan& plan);

/// Returns the options that the compiler applies: the request's own, then those from NVRTC's
/// environment variable.
[[nodiscard]] std::vector<std::string> OptionsOf(const BuildRequest& request);

/// Returns kInvalidRequest, with the name of the text, if NVRTC would not read a text to its end.
[[nodiscard]] Status CheckTexts(const BuildRequest& request);

}  // namespace cccl_cache::daemon
