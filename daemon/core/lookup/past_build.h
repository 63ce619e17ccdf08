// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/core/closure/closure.h"
#include "daemon/core/model/artifact.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"
#include "proto/request.h"

namespace cccl_cache::daemon {

/// A text or binary of a request, by what tells it from another one: never the contents.
struct ContentMark {
  std::string name;
  cccl_cache::Digest digest;
  uint64_t lines = 0;  ///< of a text; 0 for binaries
  uint32_t form = 0;   ///< a link input's type, 1 for a module that is added lazily

  bool operator==(const ContentMark&) const = default;
};

/// One directory of the search order.
struct SearchDirectory {
  std::string shown;    ///< as the client named it
  std::string meaning;  ///< what every fingerprint knows of it: builds differ where this does
  std::string path;     ///< absolute: what only that of a path-dependent build knows

  bool operator==(const SearchDirectory&) const = default;
};

/// What of a build can differ from another one, small enough to be kept for a while.
struct PastBuild {
  cccl_cache::BuildKind kind = cccl_cache::BuildKind::kNvrtc;
  std::string program;  ///< NVRTC: base name
  ContentMark source;   ///< NVRTC
  std::vector<ContentMark> headers;
  std::vector<std::string> name_expressions;
  std::vector<ContentMark> inputs;   ///< of a link, or the modules of libNVVM
  std::vector<std::string> options;  ///< canonical, without directories
  std::vector<SearchDirectory> directories;
  bool path_dependent = false;
  std::vector<std::string> path_options;  ///< canonical: those that have the output show paths
  std::string working_directory;
  cccl_cache::Digest compiler;  ///< identity of the library
  std::string toolchain;        ///< version and id, for a person
  std::vector<std::string> client_prefixes;
  /// Null: not known yet, or too large to be kept.
  std::shared_ptr<const Closure> closure;

  cccl_cache::Digest fingerprint;
  cccl_cache::Digest key;
  Outcome outcome = Outcome::kBuilt;
  std::string reason;  ///< why uncacheable or failed
  std::chrono::system_clock::time_point time;

  /// Its artifact was put into the tiers.
  [[nodiscard]] bool kept() const {
    return outcome == Outcome::kBuilt || outcome == Outcome::kJoined;
  }
};
using PastBuildPtr = std::shared_ptr<const PastBuild>;

/// All that a plan tells; no closure, outcome or time.
[[nodiscard]] PastBuild MarkOf(const BuildPlan& plan);

/// A file as this build's client names it.
[[nodiscard]] std::string ClientPath(const PastBuild& build, const FileName& name);

/// What the memory of it costs, without the closure.
[[nodiscard]] size_t FootprintOf(const PastBuild& build);
[[nodiscard]] size_t FootprintOf(const Closure& closure);

}  // namespace cccl_cache::daemon
