// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/directory_difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace cccl_cache::daemon {
namespace {

// Where only one of them depends on its paths, something else that differs made it so.
bool BothShowPaths(const PastBuild& was, const PastBuild& is) {
  return was.path_dependent && is.path_dependent;
}

// What follows the working directory in the path; none of what lies elsewhere.
std::optional<std::string_view> BelowWorkingDirectory(const PastBuild& build,
                                                      std::string_view path) {
  const std::string_view working = build.working_directory;
  if (working.empty() || !path.starts_with(working)) return std::nullopt;
  const std::string_view rest = path.substr(working.size());
  if (!rest.empty() && !rest.starts_with('/')) return std::nullopt;
  return rest;
}

bool SamePlace(const PastBuild& was, const SearchDirectory& old, const PastBuild& is,
               const SearchDirectory& now) {
  if (old.path == now.path) return true;
  const auto below = BelowWorkingDirectory(was, old.path);
  return below && below == BelowWorkingDirectory(is, now.path);
}

// Directories beyond this are compared number by number.
constexpr size_t kMostAligned = 64;

// What it costs to take two directories for one another, or one for new or gone: two that are
// another in the same places rather change than come and go.
constexpr size_t kRenamed = 1;
constexpr size_t kChanged = 10;
constexpr size_t kAlone = 10;

/// Two search orders side by side.
class SearchOrders {
 public:
  SearchOrders(const PastBuild& was, const PastBuild& is)
      : was_(was), is_(is), show_paths_(BothShowPaths(was, is)) {}

  void Compare(std::vector<Difference>* differences) {
    size_t old = 0;
    size_t now = 0;
    while (old < was_.directories.size() && now < is_.directories.size() && CostOf(old, now) == 0) {
      ++old;
      ++now;
    }
    Align(old, now);
    while (old < was_.directories.size() || now < is_.directories.size()) {
      const Step step = StepFrom(old, now);
      if (step == Step::kBoth) {
        TellChange(old++, now++, differences);
      } else if (step == Step::kOld) {
        const SearchDirectory& gone = was_.directories[old++];
        differences->push_back({DifferenceField::kDirectory, Named(gone), Named(gone), ""});
      } else {
        const SearchDirectory& added = is_.directories[now++];
        differences->push_back({DifferenceField::kDirectory, Named(added), "", Named(added)});
      }
    }
  }

 private:
  enum class Step { kBoth, kOld, kNow };

  static std::string Named(const SearchDirectory& directory) {
    return directory.shown.empty() ? directory.path : directory.shown;
  }

  [[nodiscard]] bool Differ(const SearchDirectory& old, const SearchDirectory& now) const {
    return old.meaning != now.meaning || (show_paths_ && !SamePlace(was_, old, is_, now));
  }

  [[nodiscard]] size_t CostOf(size_t old, size_t now) const {
    const SearchDirectory& before = was_.directories[old];
    const SearchDirectory& after = is_.directories[now];
    if (Differ(before, after)) return kChanged;
    return before.shown == after.shown ? 0 : kRenamed;
  }

  void TellChange(size_t old, size_t now, std::vector<Difference>* differences) const {
    const SearchDirectory& before = was_.directories[old];
    const SearchDirectory& after = is_.directories[now];
    if (!Differ(before, after)) return;
    const bool by_path = before.meaning == after.meaning;
    differences->push_back({DifferenceField::kDirectory, fmt::format("number {}", now),
                            by_path ? before.path : before.shown,
                            by_path ? after.path : after.shown});
  }

  // What the cheapest way costs from each pair of places on to the ends.
  void Align(size_t old_begin, size_t now_begin) {
    old_begin_ = old_begin;
    now_begin_ = now_begin;
    const size_t rows = was_.directories.size() - old_begin + 1;
    columns_ = is_.directories.size() - now_begin + 1;
    if (std::max(rows, columns_) > kMostAligned) return;
    costs_.resize(rows * columns_);
    for (size_t old = was_.directories.size() + 1; old-- > old_begin;) {
      for (size_t now = is_.directories.size() + 1; now-- > now_begin;) {
        costs_[PlaceOf(old, now)] = CostFrom(old, now);
      }
    }
  }

  [[nodiscard]] size_t CostFrom(size_t old, size_t now) const {
    const size_t alone = was_.directories.size() - old + is_.directories.size() - now;
    if (old == was_.directories.size() || now == is_.directories.size()) return alone * kAlone;
    return std::min({CostOf(old, now) + costs_[PlaceOf(old + 1, now + 1)],
                     kAlone + costs_[PlaceOf(old + 1, now)],
                     kAlone + costs_[PlaceOf(old, now + 1)]});
  }

  [[nodiscard]] Step StepFrom(size_t old, size_t now) const {
    if (old == was_.directories.size()) return Step::kNow;
    if (now == is_.directories.size()) return Step::kOld;
    if (costs_.empty()) return Step::kBoth;
    const size_t least = costs_[PlaceOf(old, now)];
    if (least == CostOf(old, now) + costs_[PlaceOf(old + 1, now + 1)]) return Step::kBoth;
    return least == kAlone + costs_[PlaceOf(old + 1, now)] ? Step::kOld : Step::kNow;
  }

  [[nodiscard]] size_t PlaceOf(size_t old, size_t now) const {
    return (old - old_begin_) * columns_ + now - now_begin_;
  }

  const PastBuild& was_;
  const PastBuild& is_;
  const bool show_paths_;
  size_t old_begin_ = 0;
  size_t now_begin_ = 0;
  size_t columns_ = 0;
  std::vector<size_t> costs_;  // empty: too many to be aligned
};

}  // namespace

std::vector<Difference> DirectoryDifferences(const PastBuild& was, const PastBuild& is) {
  std::vector<Difference> differences;
  SearchOrders(was, is).Compare(&differences);
  if (BothShowPaths(was, is) && was.working_directory != is.working_directory) {
    differences.push_back({DifferenceField::kDirectory, "the working directory",
                           was.working_directory, is.working_directory});
  }
  return differences;
}

}  // namespace cccl_cache::daemon
