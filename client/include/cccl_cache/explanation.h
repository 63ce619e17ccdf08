// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cccl_cache/c/explain.h"
#include "cccl_cache/handle.h"

namespace cccl_cache {

/// One difference between a build and an earlier one.
struct Difference {
  cccl_cache_difference_field field;
  std::string_view name;
  std::string_view was;
  std::string_view is;
  uint64_t was_lines;
  uint64_t is_lines;
};

/// What one tier has of the artifact.
struct TierLook {
  std::string_view tier;     ///< "disk"
  std::string_view finding;  ///< "no-entry"
  std::string_view reason;
};

/// The reason why a build is a miss. All views are valid as long as it lives.
class Explanation {
 public:
  using Handle = cccl_cache::Handle<cccl_cache_explanation, cccl_cache_explanation_free>;

  explicit Explanation(cccl_cache_explanation* explanation) : explanation_(explanation) {
    info_.struct_size = sizeof(info_);
    cccl_cache_explanation_describe(explanation, &info_);
  }

  [[nodiscard]] std::string_view verdict() const { return cccl_cache_verdict_name(info_.verdict); }
  [[nodiscard]] std::string_view reason() const { return View(info_.reason); }
  [[nodiscard]] std::string_view nearest_key() const { return View(info_.nearest_key); }
  /// Returns all other fields: times, the tier.
  [[nodiscard]] const cccl_cache_explanation_info& info() const { return info_; }

  [[nodiscard]] std::vector<Difference> differences() const {
    std::vector<Difference> differences;
    for (size_t i = 0; i < info_.difference_count; ++i) {
      cccl_cache_difference each = {};
      each.struct_size = sizeof(each);
      cccl_cache_explanation_difference(explanation_.get(), i, &each);
      differences.push_back({each.field, View(each.name), View(each.was), View(each.is),
                             each.was_lines, each.is_lines});
    }
    return differences;
  }

  /// Returns the tiers in the order in which a build asks them, up to the one that has the
  /// artifact.
  [[nodiscard]] std::vector<TierLook> tiers() const {
    std::vector<TierLook> tiers;
    for (size_t i = 0; i < info_.tier_count; ++i) {
      cccl_cache_tier_look each = {};
      each.struct_size = sizeof(each);
      cccl_cache_explanation_tier(explanation_.get(), i, &each);
      tiers.push_back({cccl_cache_tier_name(each.tier), cccl_cache_tier_finding_name(each.finding),
                       View(each.reason)});
    }
    return tiers;
  }

 private:
  Handle explanation_;
  cccl_cache_explanation_info info_ = {};
};

}  // namespace cccl_cache
