// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/explain/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
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

// Returns the texts that are in `some` but not in `others`. If `some` has a text n times more often
// than `others`, it is returned n times.
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

// Compares lists of texts, such as options. Texts that both lists contain are left out. If a
// removed and an added text have the same name, they are reported as one changed text.
void CompareTexts(DifferenceField field, const std::vector<std::string>& was,
                  const std::vector<std::string>& is, std::vector<Difference>* differences) {
  const std::vector<std::string> gone = Missing(was, is);
  std::multimap<std::string_view, size_t> by_name;  // indices in gone
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

// Compares contents that have names, such as inline headers. If several contents have one name, the
// first ones are compared with each other, then the second ones, and so on.
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

// Returns whether the outputs of both builds contain paths. If only one does, another difference is
// the cause, and the paths are not compared.
bool BothShowPaths(const PastBuild& was, const PastBuild& is) {
  return was.path_dependent && is.path_dependent;
}

// Returns the part of the path below the working directory; none if the path is not below it.
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

// Compares the search directories as far as the fingerprints cover them. Equal directories at the
// end of both search orders are left out. So if one directory was added or removed, those after it
// are not reported. A changed working directory is reported once, and not for each directory below
// it.
void CompareDirectories(const PastBuild& was, const PastBuild& is,
                        std::vector<Difference>* differences) {
  const bool show_paths = BothShowPaths(was, is);
  const auto same = [&](const SearchDirectory& old, const SearchDirectory& now) {
    return old.meaning == now.meaning && (!show_paths || SamePlace(was, old, is, now));
  };
  const auto named = [](const SearchDirectory& directory) {
    return directory.shown.empty() ? directory.path : directory.shown;
  };
  std::span<const SearchDirectory> before = was.directories;
  std::span<const SearchDirectory> after = is.directories;
  while (!before.empty() && !after.empty() && before.back().shown == after.back().shown &&
         same(before.back(), after.back())) {
    before = before.first(before.size() - 1);
    after = after.first(after.size() - 1);
  }
  size_t number = 0;
  for (; number < std::min(before.size(), after.size()); ++number) {
    const SearchDirectory& old = before[number];
    const SearchDirectory& now = after[number];
    if (same(old, now)) continue;
    const bool by_path = old.meaning == now.meaning;
    differences->push_back({DifferenceField::kDirectory, fmt::format("number {}", number),
                            by_path ? old.path : old.shown, by_path ? now.path : now.shown});
  }
  for (const SearchDirectory& gone : before.subspan(number)) {
    differences->push_back({DifferenceField::kDirectory, named(gone), named(gone), ""});
  }
  for (const SearchDirectory& added : after.subspan(number)) {
    differences->push_back({DifferenceField::kDirectory, named(added), "", named(added)});
  }
  if (show_paths && was.working_directory != is.working_directory) {
    differences->push_back({DifferenceField::kDirectory, "the working directory",
                            was.working_directory, is.working_directory});
  }
}

// Returns the differences in everything except the contents of files.
std::vector<Difference> InTheRequest(const PastBuild& was, const PastBuild& is) {
  std::vector<Difference> differences;
  CompareOptions(was, is, &differences);
  CompareTexts(DifferenceField::kNameExpression, was.name_expressions, is.name_expressions,
               &differences);
  CompareContents(DifferenceField::kInlineHeader, was.headers, is.headers, &differences);
  CompareContents(DifferenceField::kInput, was.inputs, is.inputs, &differences);
  CompareDirectories(was, is, &differences);
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
  // A root number means the same directory in both builds only if both have the same number of
  // roots.
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
    // If the earlier build did not ask for this file, another difference must be the cause.
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

// Returns the distance between two builds that have these differences. All directories together
// count less than any other difference. A build in another checkout has many other directories, and
// is still similar.
size_t DistanceOf(const std::vector<Difference>& differences) {
  const auto directories = static_cast<size_t>(
      std::ranges::count(differences, DifferenceField::kDirectory, &Difference::field));
  return 2 * (differences.size() - directories) + (directories > 0 ? 1 : 0);
}

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
    const size_t distance = DistanceOf(InTheRequest(*candidate, build));
    if (nearest != nullptr && distance >= least) continue;
    nearest = candidate;
    least = distance;
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

}  // namespace cccl_cache::daemon
