// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace cccl_cache::daemon {
namespace {

std::string TextOf(FileKind kind, const Digest& digest) {
  if (kind == FileKind::kAbsent) return "absent";
  return kind == FileKind::kDirectory ? "a directory" : digest.Hex();
}

// Returns "--std" for "--std=c++17".
std::string_view NameOf(std::string_view option) { return option.substr(0, option.find('=')); }

// Returns those of `some` that `others` lack, each as often as it is missing.
std::vector<std::string> Missing(const std::vector<std::string>& some,
                                 const std::vector<std::string>& others) {
  std::map<std::string_view, size_t> left;
  for (const std::string& text : others) ++left[text];
  std::vector<std::string> missing;
  for (const std::string& text : some) {
    const auto found = left.find(text);
    if (found == left.end() || found->second == 0) {
      missing.push_back(text);
    } else {
      --found->second;
    }
  }
  return missing;
}

// Compares texts that only one side has; two texts of the same name count as one changed text.
void CompareTexts(DifferenceField field, const std::vector<std::string>& was,
                  const std::vector<std::string>& is, std::vector<Difference>* differences) {
  const std::vector<std::string> gone = Missing(was, is);
  std::multimap<std::string_view, size_t> by_name;  // places in gone
  for (size_t i = 0; i < gone.size(); ++i) by_name.emplace(NameOf(gone[i]), i);
  std::vector<bool> changed(gone.size());
  for (const std::string& added : Missing(is, was)) {
    const auto before = by_name.find(NameOf(added));
    Difference difference{field, std::string(NameOf(added)), "", added};
    if (before != by_name.end()) {
      difference.was = gone[before->second];
      changed[before->second] = true;
      by_name.erase(before);
    }
    differences->push_back(std::move(difference));
  }
  for (size_t i = 0; i < gone.size(); ++i) {
    if (changed[i]) continue;
    differences->push_back({field, std::string(NameOf(gone[i])), gone[i], ""});
  }
}

void CompareOptions(const PastBuild& was, const PastBuild& is,
                    std::vector<Difference>* differences) {
  const size_t before = differences->size();
  CompareTexts(DifferenceField::kOption, was.options, is.options, differences);
  if (differences->size() > before || was.options == is.options) return;
  differences->push_back({DifferenceField::kOption, "their order",
                          fmt::format("{}", fmt::join(was.options, " ")),
                          fmt::format("{}", fmt::join(is.options, " "))});
}

// Compares, among contents of one name, the first ones with each other, then the second ones.
void CompareContents(DifferenceField field, const std::vector<ContentMark>& was,
                     const std::vector<ContentMark>& is, std::vector<Difference>* differences) {
  std::multimap<std::string_view, const ContentMark*> left;
  for (const ContentMark& mark : was) left.emplace(mark.name, &mark);
  const size_t before = differences->size();
  for (const ContentMark& mark : is) {
    const auto found = left.find(mark.name);
    Difference difference{field, mark.name, "", mark.digest.Hex(), 0, mark.lines};
    if (found != left.end()) {
      const ContentMark& old = *found->second;
      difference.was = old.digest.Hex();
      difference.was_lines = old.lines;
      if (old.digest == mark.digest && old.form != mark.form) {
        difference.was = fmt::format("form {}", old.form);
        difference.is = fmt::format("form {}", mark.form);
      }
      left.erase(found);
    }
    if (difference.was != difference.is) differences->push_back(std::move(difference));
  }
  for (const auto& [name, mark] : left) {
    differences->push_back({field, std::string(name), mark->digest.Hex(), "", mark->lines, 0});
  }
  if (differences->size() == before && was != is && field == DifferenceField::kInput) {
    differences->push_back({field, "their order", "", ""});
  }
}

// Compares all but the files.
std::vector<Difference> InTheRequest(const PastBuild& was, const PastBuild& is) {
  std::vector<Difference> differences;
  CompareOptions(was, is, &differences);
  CompareTexts(DifferenceField::kNameExpression, was.name_expressions, is.name_expressions,
               &differences);
  CompareContents(DifferenceField::kInlineHeader, was.headers, is.headers, &differences);
  CompareContents(DifferenceField::kInput, was.inputs, is.inputs, &differences);
  std::ranges::move(DirectoryDifferences(was, is), std::back_inserter(differences));
  if (was.program != is.program) {
    differences.push_back({DifferenceField::kProgramName, "", was.program, is.program});
  }
  if (was.compiler != is.compiler) {
    differences.push_back({DifferenceField::kToolchain, "", was.toolchain, is.toolchain});
  }
  if (was.source.digest != is.source.digest) {
    differences.push_back({DifferenceField::kSource, is.source.name, was.source.digest.Hex(),
                           is.source.digest.Hex(), was.source.lines, is.source.lines});
  }
  return differences;
}

void CompareFiles(const PastBuild& was, const PastBuild& is, std::vector<Difference>* differences) {
  // Equal numbers mean the same places only in the same search order.
  const bool same_roots = was.client_prefixes.size() == is.client_prefixes.size();
  const auto name_in = [&](const PastBuild& build, const FileName& name) {
    return same_roots ? fmt::format("{}:{}", name.root, name.below) : ClientPath(build, name);
  };
  std::map<std::string, const ClosureEntry*> before;
  for (const ClosureEntry& entry : was.closure->entries) {
    before.try_emplace(name_in(was, entry.name), &entry);
  }
  for (const ClosureEntry& entry : is.closure->entries) {
    const auto found = before.find(name_in(is, entry.name));
    // A file that was not asked for before is a consequence of another difference.
    if (found == before.end()) continue;
    const ClosureEntry& old = *found->second;
    Difference difference{DifferenceField::kHeader, ClientPath(is, entry.name),
                          TextOf(old.kind, old.digest), TextOf(entry.kind, entry.digest)};
    if (difference.was != difference.is) differences->push_back(std::move(difference));
  }
}

bool Shares(const std::vector<ContentMark>& some, const std::vector<ContentMark>& others) {
  std::set<Digest> digests;
  std::set<std::string_view> names;
  for (const ContentMark& other : others) {
    digests.insert(other.digest);
    if (!other.name.empty()) names.insert(other.name);
  }
  return std::ranges::any_of(some, [&](const ContentMark& mark) {
    return digests.contains(mark.digest) || names.contains(mark.name);
  });
}

bool Resembles(const PastBuild& build, const PastBuild& other) {
  if (build.kind != other.kind) return false;
  if (build.kind != BuildKind::kNvrtc) return Shares(build.inputs, other.inputs);
  return build.program == other.program || build.source.digest == other.source.digest;
}

// Returns the distance that this difference adds between two builds.
size_t WeightOf(const Difference& difference) {
  switch (difference.field) {
    case DifferenceField::kSource:
      return 4;
    case DifferenceField::kToolchain:
      return 3;
    case DifferenceField::kNameExpression:
    case DifferenceField::kProgramName:
      return 1;
    default:
      return 2;
  }
}

// A build in another place moves all of its directories, so they count once.
size_t WeightOf(const std::vector<Difference>& differences) {
  size_t weight = 0;
  bool elsewhere = false;
  for (const Difference& difference : differences) {
    if (difference.field == DifferenceField::kDirectory) {
      elsewhere = true;
    } else {
      weight += WeightOf(difference);
    }
  }
  return weight + (elsewhere ? 1 : 0);
}

// If only one of them depends on its paths, another difference is the cause.
bool BothShowPaths(const PastBuild& was, const PastBuild& is) {
  return was.path_dependent && is.path_dependent;
}

// Returns the part of the path that follows the working directory; none if the path lies elsewhere.
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

// Longer search orders are compared number by number.
constexpr size_t kMaxAligned = 64;

// Costs of an alignment: one directory replaced by another, and one added or removed. A changed
// directory is cheaper than one removed and one added.
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

  // Computes the cost of the cheapest alignment from each pair of places to the ends.
  void Align(size_t old_begin, size_t now_begin) {
    old_begin_ = old_begin;
    now_begin_ = now_begin;
    const size_t rows = was_.directories.size() - old_begin + 1;
    columns_ = is_.directories.size() - now_begin + 1;
    if (std::max(rows, columns_) > kMaxAligned) return;
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

std::vector<Difference> Differences(const PastBuild& was, const PastBuild& is) {
  std::vector<Difference> differences = InTheRequest(was, is);
  if (was.closure && is.closure) CompareFiles(was, is, &differences);
  return differences;
}

std::string WhyPathsCount(const PastBuild& was, const PastBuild& is,
                          std::span<const Difference> differences) {
  const bool any = std::ranges::any_of(differences, [](const Difference& difference) {
    return difference.field == DifferenceField::kDirectory;
  });
  if (!any || !was.path_dependent || !is.path_dependent) return {};
  return fmt::format("where a directory lies counts because the output shows paths, by {}",
                     is.path_options.empty()
                         ? "__FILE__ or the like in the source, a header or a macro"
                         : fmt::format("{}", fmt::join(is.path_options, ", ")));
}

PastBuildPtr Nearest(std::span<const PastBuildPtr> builds, const PastBuild& build) {
  PastBuildPtr nearest;
  size_t least = 0;
  for (const PastBuildPtr& candidate : builds) {
    if (!candidate->kept() || !Resembles(*candidate, build)) continue;
    const size_t weight = WeightOf(InTheRequest(*candidate, build));
    if (nearest != nullptr && weight >= least) continue;
    nearest = candidate;
    least = weight;
  }
  return nearest;
}

std::vector<Difference> FilesChangedSince(const PastBuild& was, RequesterFiles& files,
                                          size_t most) {
  std::vector<Difference> differences;
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> first_of;
  if (was.closure == nullptr) return differences;
  const std::vector<ClosureEntry>& entries = was.closure->entries;
  for (uint32_t i = 0; i < entries.size() && differences.size() < most; ++i) {
    const ClosureEntry& entry = entries[i];
    Difference difference{DifferenceField::kHeader, ClientPath(was, entry.name),
                          TextOf(entry.kind, entry.digest), ""};
    const Result<SeenFile> seen = files.Look(entry.name);
    difference.is = seen ? TextOf(seen->kind, seen->digest) : seen.error().message;
    if (difference.was != difference.is) {
      differences.push_back(std::move(difference));
    } else if (HasInode(entry.kind) &&
               first_of.try_emplace(seen->inode, i).first->second != entry.same_as) {
      difference.was =
          fmt::format("one file with {}", ClientPath(was, entries[entry.same_as].name));
      difference.is = "another file";
      differences.push_back(std::move(difference));
    }
  }
  return differences;
}

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
