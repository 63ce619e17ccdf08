// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/roots.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace cccl_cache::daemon {
namespace {

std::string_view WithoutTrailingSlashes(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  return path;
}

std::string Absolute(std::string_view path, std::string_view working_directory) {
  if (path.starts_with('/')) return std::string(WithoutTrailingSlashes(path));
  if (working_directory.empty()) return {};
  if (path.empty() || path == ".") return std::string(WithoutTrailingSlashes(working_directory));
  return fmt::format("{}/{}", WithoutTrailingSlashes(working_directory),
                     WithoutTrailingSlashes(path));
}

// A directory in a toolchain: the index of the header directory that contains it, and the path
// below that directory.
struct ToolchainPlace {
  size_t index = 0;
  std::string below;  // "" or "/cub"
};

std::optional<std::string_view> Below(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return std::nullopt;
  path.remove_prefix(directory.size());
  if (!path.empty() && !path.starts_with('/')) return std::nullopt;
  return path;
}

std::optional<ToolchainPlace> FindPlace(std::string_view path, const Toolchain& toolchain) {
  if (path.empty() || path.find("/..") != path.npos) return std::nullopt;
  std::optional<ToolchainPlace> best;
  const auto consider = [&](size_t index, std::string_view directory) {
    const auto below = Below(path, directory);
    // Header directories can be nested, like include/cccl in include. The innermost one is used.
    if (below && (!best || below->size() < best->below.size())) {
      best = ToolchainPlace{index, std::string(*below)};
    }
  };
  for (size_t i = 0; i < toolchain.headers.size(); ++i) {
    consider(i, toolchain.headers[i].path);
    for (const std::string& alias : toolchain.headers[i].aliases) consider(i, alias);
  }
  return best;
}

Root ProgramRoot(const BuildRequest& request, const NvrtcProgram& program, bool path_dependent) {
  const std::string_view name = ProgramName(program);
  const size_t slash = name.rfind('/');
  const std::string_view prefix =
      slash == name.npos ? std::string_view() : name.substr(0, slash + 1);
  Root root;
  root.client_prefix = prefix;
  root.mount.target = Absolute(prefix, request.working_directory);
  root.mount.visible = path_dependent ? root.mount.target : fmt::format("{}0", kCanonicalPrefix);
  root.fingerprint.path = root.mount.target;
  return root;
}

Root IncludeRoot(size_t number, std::string_view named, const BuildRequest& request,
                 const Toolchain& toolchain, const RootLayout& layout) {
  const bool path_dependent = layout.path_dependent;
  Root root;
  const std::string path = Absolute(named, request.working_directory);
  // In messages, compilers put this prefix before the names of files in this root.
  root.client_prefix = named;
  if (!named.ends_with('/')) root.client_prefix += '/';
  root.mount.target = path;
  root.fingerprint.path = path;
  if (const auto place = layout.elsewhere ? std::nullopt : FindPlace(path, toolchain)) {
    root.mount.target = toolchain.headers[place->index].path + place->below;
    root.mount.trusted = true;
    root.fingerprint.toolchain_directory =
        fmt::format("{}{}", PlaceOf(toolchain.headers, place->index), place->below);
  }
  root.mount.visible = path_dependent ? path : fmt::format("{}{}", kCanonicalPrefix, number);
  root.for_compiler = path_dependent ? std::string(named) : root.mount.visible;
  return root;
}

/// Returns the client's name of kBundledDirectory.
std::string_view ScratchOf(const BuildPlan& plan) {
  for (const ParsedOption& option : plan.options) {
    if (option.rule != nullptr && option.rule->names_scratch) return option.value;
  }
  return {};
}

std::string NumbersOf(std::string_view text, std::string_view separator) {
  std::string numbers;
  for (char c : text) numbers += fmt::format("{}{}", numbers.empty() ? "" : separator, int{c});
  return numbers;
}

}  // namespace

std::string_view ProgramName(const NvrtcProgram& program) {
  return program.name.empty() ? std::string_view("default_program") : program.name;
}

std::vector<Root> LayOutRoots(const BuildRequest& request, const std::vector<ParsedOption>& options,
                              const Toolchain& toolchain, const RootLayout& layout) {
  const auto& program = std::get<NvrtcProgram>(request.program);
  std::vector<Root> roots;
  roots.push_back(ProgramRoot(request, program, layout.path_dependent));
  for (const ParsedOption& option : options) {
    if (option.rule == nullptr || !option.rule->names_directory) continue;
    roots.push_back(IncludeRoot(roots.size(), option.value, request, toolchain, layout));
  }
  if (program.append_toolchain_headers) {
    for (const HeaderDirectory& directory : toolchain.headers) {
      roots.push_back(
          IncludeRoot(roots.size(), directory.path, request, toolchain, {layout.path_dependent}));
    }
  }
  return roots;
}

bool HoldsRoot(std::string_view directory, std::string_view working_directory,
               const std::vector<Root>& roots) {
  const std::string path = Absolute(directory, working_directory);
  return LiesIn(working_directory, path) || std::ranges::any_of(roots, [&](const Root& root) {
           return LiesIn(root.fingerprint.path, path);
         });
}

std::string WithClientNames(const BuildPlan& plan, std::string_view text) {
  std::string result;
  if (plan.path_dependent && !plan.bundled_headers) return std::string(text);
  result.reserve(text.size());
  while (true) {
    const size_t at = text.find(kCanonicalPrefix);
    if (at == text.npos) break;
    const char* const digits = text.data() + at + kCanonicalPrefix.size();
    const char* const end = text.data() + text.size();
    size_t root = 0;
    const auto number = std::from_chars(digits, end, root);
    const bool known = number.ec == std::errc() && number.ptr != end && *number.ptr == '/' &&
                       root < plan.client_prefixes.size();
    result.append(text.substr(0, at));
    if (plan.bundled_headers && text.substr(at).starts_with(kBundledDirectory)) {
      result += ScratchOf(plan);
      text.remove_prefix(at + kBundledDirectory.size());
    } else if (known) {
      result += plan.client_prefixes[root];
      text.remove_prefix(number.ptr + 1 - text.data());
    } else {
      result += kCanonicalPrefix;
      text.remove_prefix(at + kCanonicalPrefix.size());
    }
  }
  result.append(text);
  return result;
}

bool ShowsCanonicalNames(const BuildPlan& plan, const Artifact& artifact) {
  const bool nvrtc = plan.job.request->kind() == BuildKind::kNvrtc;
  const bool has_some = !plan.path_dependent || plan.bundled_headers;
  if (!has_some || !nvrtc) return false;
  static const ShownText kShown(kCanonicalPrefix);
  return kShown.In(artifact);
}

ShownText::ShownText(std::string_view text)
    : text_(text), numbers_(NumbersOf(text, ", ")), dense_numbers_(NumbersOf(text, ",")) {}

bool ShownText::InStrings(const Artifact& artifact) const {
  return std::ranges::any_of(artifact.parts, [this](const ArtifactPart& part) {
    if (part.kind != ArtifactKind::kPtx) return false;
    return part.bytes.find(numbers_) != std::string::npos ||
           part.bytes.find(dense_numbers_) != std::string::npos;
  });
}

bool ShownText::In(const Artifact& artifact) const {
  return std::ranges::any_of(artifact.parts, [this](const ArtifactPart& part) {
    const auto holds = [&](const std::string& text) {
      return part.bytes.find(text) != std::string::npos;
    };
    if (part.kind == ArtifactKind::kCubin) return holds(text_);
    if (part.kind != ArtifactKind::kPtx) return false;
    return holds(text_) || holds(numbers_) || holds(dense_numbers_);
  });
}

}  // namespace cccl_cache::daemon
