// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/core/lookup/build_cache.h"
#include "daemon/core/plan/build_plan.h"
#include "proto/digest.h"

namespace cccl_cache::daemon {

enum class PathVerdict { kUnknown, kShown, kNotShown };

/// A result that was made under the real names, because a file of the program names paths. The
/// result of the same program under canonical names, which have another length and other letters,
/// proves whether paths show: if it is the same, none does.
class UnprovenResult {
 public:
  UnprovenResult(const BuildPlan& real, const FlightResult& flight_result);

  /// `canonical`: the plan of the same program under canonical names, and its result.
  [[nodiscard]] PathVerdict Compare(const BuildPlan& canonical,
                                    const FlightResult& flight_result) const;

  /// Returns the bytes of memory that it holds.
  [[nodiscard]] size_t bytes() const;

 private:
  std::string program_name_;
  std::vector<std::string> options_;
  Digest output_;
  Digest files_;
};

}  // namespace cccl_cache::daemon
