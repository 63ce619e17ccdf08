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
#include "daemon/core/closure/source_scan.h"
#include "daemon/core/model/compiler.h"
#include "daemon/core/model/requester_files.h"
#include "daemon/core/model/result.h"
#include "daemon/core/model/toolchain.h"
#include "proto/digest.h"
#include "proto/fingerprint.h"
#include "proto/options.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// What follows from a request and the toolchain that serves it, before anything is looked up.
struct BuildPlan {
  Digest fingerprint;  ///< of the compiler's own files, not of the toolchain's headers
  Digest key;          ///< of the artifact if the compiler reads no file: with the empty closure
  /// Of the fingerprint and, where a compiler reads headers, all of the toolchain's: builds with
  /// the same one are the same as long as nothing comes from outside.
  Digest flight;
  /// Hash of the places where this requester's files lie, and of whose they are: what was made of
  /// the files of one build is an answer to another only if these agree, or once it was checked.
  Digest view;
  /// The same of the -I directories outside the toolchain alone; none if there are none.
  std::optional<Digest> include_view;
  RootDirectories directories;             ///< where the requester's files lie
  std::vector<VisibleRoot> visible_roots;  ///< where the compiler sees them
  CompileJob job;
  /// The compiler sees the real paths, and so does the fingerprint.
  bool path_dependent = false;
  bool base_name_token = false;    ///< __BASE_FILE__ stands in the request, or can be pasted
  bool function_token = false;     ///< __PRETTY_FUNCTION__ does
  std::string uncacheable_reason;  ///< empty: cacheable as far as the request tells
  /// For each root: what the client's own names begin with where the compiler's begin with
  /// /cccl-root-N/.
  std::vector<std::string> client_prefixes;
  // What the fingerprint is made of besides the request.
  std::vector<ParsedOption> options;
  std::vector<FingerprintRoot> fingerprint_roots;
};

struct PlanOptions {
  uid_t uid = 0;                      ///< whose build it is
  bool force_path_dependent = false;  ///< an earlier compile showed that the output holds paths
  /// What paths mean to the daemon: a client to whom they mean something else has no directories of
  /// the toolchain's. None: unknown, they mean the same.
  std::optional<FilesView> own_view = std::nullopt;
};

/// Applies the option rules, lays out the roots, computes the fingerprint. kInvalidRequest names
/// the field or option. Pure.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// In all texts of the plan's request: what its files can be pasted together with.
[[nodiscard]] NameParts NamePartsOf(const BuildPlan& plan);

/// The options that the compiler goes by: the request's own, then those that NVRTC takes from the
/// environment.
[[nodiscard]] std::vector<std::string> OptionsOf(const BuildRequest& request);

/// kInvalidRequest names the text that NVRTC would not read to its end.
[[nodiscard]] Status CheckTexts(const BuildRequest& request);

}  // namespace cccl_cache::daemon
