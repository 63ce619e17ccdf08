// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "cccl_cache/build.h"
#include "cccl_cache/c/build.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

struct Artifact {
  Kind kind;
  std::string_view contents;
  std::string_view sha256;
};

struct LoweredName {
  std::string_view expression;
  std::string_view lowered;
};

/// The result of a build. All returned views are valid as long as this object.
class BuildResult {
 public:
  using Handle = cccl_cache::Handle<cccl_cache_result, cccl_cache_result_free>;

  explicit BuildResult(cccl_cache_result* result) : result_(result) {
    info_.struct_size = sizeof(info_);
    cccl_cache_result_describe(result, &info_);
  }

  [[nodiscard]] Outcome outcome() const { return static_cast<Outcome>(info_.outcome); }
  /// Returns whether the code compiled. If so, there are artifacts.
  [[nodiscard]] bool compiled() const { return outcome() != Outcome::kFailed; }
  [[nodiscard]] std::string_view tier() const { return cccl_cache_tier_name(info_.tier); }
  [[nodiscard]] std::string_view key() const { return View(info_.key); }
  [[nodiscard]] std::string_view fingerprint() const { return View(info_.fingerprint); }
  [[nodiscard]] std::string_view toolchain_id() const { return View(info_.toolchain_id); }
  [[nodiscard]] std::string_view toolchain_version() const { return View(info_.toolchain_version); }
  [[nodiscard]] std::string_view log() const { return View(info_.log); }
  [[nodiscard]] std::string_view reason() const { return View(info_.reason); }
  /// Returns a likely remedy for a compile error of CUDA C++. The result is empty if there is none.
  [[nodiscard]] std::string_view hint() const { return View(info_.hint); }
  /// Returns the other fields, such as codes, flags and durations.
  [[nodiscard]] const cccl_cache_result_info& info() const { return info_; }

  [[nodiscard]] std::vector<Artifact> artifacts() const {
    std::vector<Artifact> artifacts;
    artifacts.reserve(info_.artifact_count);
    for (size_t i = 0; i < info_.artifact_count; ++i) artifacts.push_back(At(i));
    return artifacts;
  }
  /// Returns the contents of the artifact of this kind. The result is empty if there is none: for
  /// example, NVRTC makes a cubin only for --gpu-architecture=sm_NN.
  [[nodiscard]] std::string_view artifact(Kind kind) const {
    for (size_t i = 0; i < info_.artifact_count; ++i) {
      if (const Artifact found = At(i); found.kind == kind) return found.contents;
    }
    return {};
  }
  [[nodiscard]] std::vector<LoweredName> lowered_names() const {
    std::vector<LoweredName> names;
    for (size_t i = 0; i < info_.lowered_name_count; ++i) {
      cccl_cache_lowered_name name = {sizeof(name), {}, {}};
      cccl_cache_result_lowered_name(result_.get(), i, &name);
      names.push_back({View(name.expression), View(name.lowered)});
    }
    return names;
  }

 private:
  [[nodiscard]] Artifact At(size_t index) const {
    cccl_cache_artifact artifact = {};
    artifact.struct_size = sizeof(artifact);
    cccl_cache_result_artifact(result_.get(), index, &artifact);
    return {static_cast<Kind>(artifact.kind), View(artifact.contents), View(artifact.sha256)};
  }

  Handle result_;
  cccl_cache_result_info info_ = {};
};

}  // namespace cccl_cache
