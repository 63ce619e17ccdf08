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
#include "daemon/core/closure/header_set_traits.h"
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

/// All facts that follow from a request and its toolchain alone, before any file or tier is read.
struct BuildPlan {
  Digest fingerprint;  ///< covers the compiler's own files, not the toolchain's headers
  Digest key;          ///< the artifact's key if the build reads no file (an empty closure)
  /// Hash of the fingerprint and, if the compiler reads headers, of all headers of the toolchain.
  /// Builds with equal hashes have the same result if they read no files outside the toolchain.
  Digest flight;
  uid_t uid = 0;                           ///< uid of the requester
  bool includes_outside = false;           ///< whether an -I is outside the toolchain
  RootDirectories directories;             ///< paths of the requester's directories on disk
  std::vector<VisibleRoot> visible_roots;  ///< the same directories under the names that the
                                           ///< compiler sees
  /// Its options lack the value of the seed if `seed_missing` is set: see AddSeed.
  CompileJob job;
  /// Whether the first of the job's options is -frandom-seed= without its value. Only a compile
  /// needs the value, which is a hash of all texts.
  bool seed_missing = false;
  /// Whether the compiler sees the real paths. The fingerprint then covers these paths.
  bool path_dependent = false;
  /// Whether the compiler reads the headers that its own library contains (kBundledDirectory).
  bool bundled_headers = false;
  bool base_name_token = false;    ///< whether __BASE_FILE__ is in the request, or can be pasted
                                   ///< from parts
  bool function_token = false;     ///< whether __PRETTY_FUNCTION__ is in the request, or can be
                                   ///< pasted
  std::string uncacheable_reason;  ///< why the result must not be cached; empty if the request
                                   ///< shows no reason
  /// For each root: the prefix that the client's names of its files have. The compiler sees the
  /// prefix /cccl-root-N/ instead.
  std::vector<std::string> client_prefixes;
  std::optional<HeaderSetTraits> header_set;  ///< traits of the request's header set, if any
  // Inputs of the fingerprint besides the request.
  std::vector<ParsedOption> options;
  std::vector<FingerprintRoot> fingerprint_roots;

  /// Returns the hash of the requester's uid, directories, and view of the file system (mount
  /// namespace and root). The result of a build that read files is also valid for a build with an
  /// equal hash. For other builds, those files must be compared first.
  [[nodiscard]] Digest View() const;
  /// Like View, but the hash does not cover the directory of the program.
  [[nodiscard]] Digest ViewBesideProgram() const;
};

struct PlanOptions {
  uid_t uid = 0;                      ///< uid of the requester
  bool force_path_dependent = false;  ///< whether an earlier compile showed paths in the output
  /// The daemon's own view of the file system. In a client with another view, no path is a
  /// directory of the toolchain. None: the view is unknown, and all clients are assumed to have the
  /// same view.
  std::optional<FilesView> own_view = std::nullopt;
  /// The traits of the request's header set. None: the set is scanned, if it has contents.
  std::optional<HeaderSetTraits> header_set = std::nullopt;
};

/// Applies the option rules, lays out the roots and computes the fingerprint. kInvalidRequest: the
/// message names the invalid field or option. kUploadNeeded: the request has a header set without
/// contents, and `options` lacks its traits. Reads no file and has no side effects.
[[nodiscard]] Result<BuildPlan> PlanBuild(std::shared_ptr<const BuildRequest> request,
                                          ToolchainPtr toolchain, const PlanOptions& options);

/// Completes the options of a job that was copied from the plan, before it is compiled: adds the
/// value of the seed if it is missing.
void AddSeed(const BuildPlan& plan, CompileJob* job);

/// Returns how the texts of the request use paths, for example in assertions. The scan of the files
/// that the compiler reads needs this result, because macros of the request may be used there.
[[nodiscard]] PathUses PathUsesOf(const BuildPlan& plan);

/// Returns kUploadNeeded if the request has a header set without contents: it can be looked up, but
/// not compiled.
[[nodiscard]] Status CheckHeaderSet(const BuildRequest& request);

/// Returns the options that the compiler applies: first those of the request, then those in NVRTC's
/// environment variable.
[[nodiscard]] std::vector<std::string> OptionsOf(const BuildRequest& request);

/// Returns kInvalidRequest, with the name of the text, if a text contains a NUL byte. NVRTC would
/// read such a text only up to that byte.
[[nodiscard]] Status CheckTexts(const BuildRequest& request);

}  // namespace cccl_cache::daemon
