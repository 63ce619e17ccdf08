// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cccl_cache::daemon {
namespace {

constexpr size_t kShortId = 12;
constexpr size_t kMaxListed = 16;
constexpr size_t kMaxShown = 80;

std::string_view LibraryOf(BuildKind kind) {
  switch (kind) {
    case BuildKind::kNvrtc:
      return "NVRTC";
    case BuildKind::kLink:
      return "nvJitLink";
    case BuildKind::kNvvm:
      return "libNVVM";
  }
  return "";
}

Error Invalid(std::string message) { return {ErrorCode::kInvalidRequest, std::move(message)}; }

Error Missing(std::string message) { return {ErrorCode::kToolchainNotFound, std::move(message)}; }

/// Returns a client's text in quotes for an error message. Long texts are cut, and control
/// characters become '?'.
std::string Quoted(std::string_view word) {
  std::string quoted = "\"";
  for (const char c : word.substr(0, kMaxShown)) quoted += c < ' ' || c == 0x7f ? '?' : c;
  return quoted + "\"";
}

/// Returns the first toolchain for which `fits` returns true and which has the library for
/// `wish.kind`. The error says whether no toolchain fits or the fitting ones lack the library.
/// `what` describes the toolchain in the message.
Result<ToolchainPtr> First(std::span<const ToolchainPtr> present, const ToolchainWish& wish,
                           const std::string& what,
                           const std::function<bool(const Toolchain&)>& fits) {
  bool any = false;
  for (const ToolchainPtr& toolchain : present) {
    if (!fits(*toolchain)) continue;
    any = true;
    if (toolchain->Library(wish.kind) != nullptr) return toolchain;
  }
  if (any) return Missing(fmt::format("{} has no {}", what, LibraryOf(wish.kind)));
  return Missing(fmt::format("there is no {}", what));
}

bool IsDigestOrEmpty(std::string_view text) {
  return text.empty() || Digest::FromHex(text).has_value();
}

Result<ToolchainPtr> ById(std::span<const ToolchainPtr> present, const ToolchainWish& wish) {
  std::string prefix = wish.selector.id;
  std::ranges::transform(prefix, prefix.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c; });
  if (prefix.size() < kShortestId || prefix.size() > 64 ||
      prefix.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Invalid(
        fmt::format("toolchain id {} is not {} to 64 hexadecimal digits; `cccl-cache-cli "
                    "toolchains` lists the ids",
                    Quoted(wish.selector.id), kShortestId));
  }
  const auto fits = [&](const Toolchain& toolchain) {
    return toolchain.id.Hex().starts_with(prefix);
  };
  const auto matching = std::ranges::count_if(
      present, [&](const ToolchainPtr& toolchain) { return fits(*toolchain); });
  if (matching > 1) {
    return Invalid(fmt::format("toolchain id {} fits {} toolchains; name more of its digits",
                               Quoted(wish.selector.id), matching));
  }
  return First(present, wish, "toolchain " + Quoted(wish.selector.id), fits);
}

/// Returns the toolchain that has the client's library. A toolchain with the same file has
/// precedence over one with an equal file at another path.
Result<ToolchainPtr> ByLibrary(std::span<const ToolchainPtr> present, const ToolchainWish& wish) {
  const std::string_view known = std::string_view(wish.selector.id).substr(kLibraryMark.size());
  const size_t comma = known.find(',');
  const std::string_view stamp = known.substr(0, comma);
  const std::string_view id = comma == known.npos ? "" : known.substr(comma + 1);
  if (!IsDigestOrEmpty(stamp) || !IsDigestOrEmpty(id)) {
    return Invalid(fmt::format("toolchain id {} is not of the form {}STAMP,ID",
                               Quoted(wish.selector.id), kLibraryMark));
  }
  Result<ToolchainPtr> chosen = Missing("no toolchain has the program's library");
  for (const ToolchainPtr& toolchain : present) {
    const CompilerLibrary* const library = toolchain->Library(wish.kind);
    if (library == nullptr) continue;
    if (library->stamp && library->stamp->Hex() == stamp) return toolchain;
    if (!chosen.ok() && library->id.Hex() == id) chosen = toolchain;
  }
  return chosen;
}

Result<ToolchainPtr> ByVersion(std::span<const ToolchainPtr> present, const ToolchainWish& wish) {
  const std::string& version = wish.selector.version;
  const char* const end = version.data() + version.size();
  int major = 0;
  int minor = 0;
  const auto [dot, major_error] = std::from_chars(version.data(), end, major);
  const bool dotted = major_error == std::errc() && dot != end && *dot == '.';
  const auto [rest, minor_error] = std::from_chars(dotted ? dot + 1 : end, end, minor);
  if (!dotted || minor_error != std::errc() || rest != end) {
    return Invalid(fmt::format("toolchain version {} is not of the form 12.9", Quoted(version)));
  }
  return First(present, wish, fmt::format("toolchain of CUDA {}.{}", major, minor),
               [&](const Toolchain& toolchain) {
                 return toolchain.major == major && toolchain.minor == minor;
               });
}

/// Returns the first fitting toolchain whose version is not above the driver's: a driver loads PTX
/// up to its own version only. If there is none, returns the first fitting toolchain, because the
/// driver may still load cubins of it.
Result<ToolchainPtr> ForDriver(std::span<const ToolchainPtr> present, const ToolchainWish& wish,
                               const std::string& what,
                               const std::function<bool(const Toolchain&)>& fits) {
  Result<ToolchainPtr> chosen = First(present, wish, what, [&](const Toolchain& toolchain) {
    const auto version = static_cast<uint32_t>(1000 * toolchain.major + 10 * toolchain.minor);
    return fits(toolchain) && version <= wish.driver_version;
  });
  return chosen.ok() ? chosen : First(present, wish, what, fits);
}

}  // namespace

Result<ToolchainPtr> Choose(std::span<const ToolchainPtr> present, const ToolchainWish& wish) {
  const ToolchainSelector& selector = wish.selector;
  if (IsByLibrary(selector)) return ByLibrary(present, wish);
  if (!selector.id.empty()) return ById(present, wish);
  if (!selector.version.empty()) return ByVersion(present, wish);
  if (selector.major != 0) {
    return ForDriver(present, wish, fmt::format("toolchain of CUDA {}", selector.major),
                     [&](const Toolchain& toolchain) {
                       return toolchain.major == static_cast<int>(selector.major);
                     });
  }
  const auto any = [](const Toolchain&) { return true; };
  if (wish.driver_version == 0) return First(present, wish, "toolchain", any);
  const auto loadable = [&](const Toolchain& toolchain) {
    return toolchain.major <= static_cast<int>(wish.driver_version / 1000);
  };
  Result<ToolchainPtr> chosen = ForDriver(present, wish, "toolchain", loadable);
  return chosen.ok() ? chosen : First(present, wish, "toolchain", any);
}

Error NotFound(const std::string& why, std::span<const ToolchainPtr> present,
               std::span<const RejectedToolchain> rejected) {
  std::vector<std::string> there;
  for (const ToolchainPtr& toolchain : present.first(std::min(present.size(), kMaxListed))) {
    there.push_back(fmt::format("{} ({}, {})", toolchain->version(),
                                toolchain->id.Hex().substr(0, kShortId), toolchain->root));
  }
  std::vector<std::string> unused;
  for (const auto& [root, reason] : rejected.first(std::min(rejected.size(), kMaxListed))) {
    unused.push_back(fmt::format("{}: {}", root, reason));
  }
  std::string message = why + ".";
  message +=
      there.empty() ? " None is present." : fmt::format(" Present: {}.", fmt::join(there, "; "));
  if (!unused.empty()) message += fmt::format(" Found and not used: {}.", fmt::join(unused, "; "));
  message +=
      " Install one (CUDA's packages, or the wheels of NVRTC, nvJitLink and libNVVM), or name its "
      "directory to the daemon with --toolchain-root.";
  return {ErrorCode::kToolchainNotFound, std::move(message)};
}

}  // namespace cccl_cache::daemon
