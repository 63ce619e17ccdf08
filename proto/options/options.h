// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/request.h"

/// The meaning of each documented option for a cache, as data: one table for each compiler
/// in {nvrtc,nvjitlink,nvvm}_options.cc. All tables are constant; every function here is
/// thread-safe.

namespace cccl_cache {

/// How an option takes its value.
enum class OptionValue : uint8_t {
  kNone,      ///< `--flag`
  kOptional,  ///< `--flag` or `--flag=value`
  kRequired,  ///< `--name=value`, `--name value` (two arguments) where `separate`, `-Nvalue` where
              ///< `joined`
};

/// The effect of an option on the build. Each option has exactly one.
enum class OptionEffect : uint8_t {
  kEntersKey,    ///< can change the output
  kRefused,      ///< the compiler itself would read or write a file, or worse: `reason` says
  kUncacheable,  ///< compiled, never kept: `reason` says
  kNone,         ///< taken, and not handed to the compiler: `reason` says
};

/// The tool behind the compiler to which an option hands its value. That tool's own file options
/// are refused.
enum class OptionReceiver : uint8_t {
  kCompiler,   ///< none: the compiler itself takes the value
  kAssembler,  ///< ptxas: `-Xptxas`
  kFrontEnd,   ///< the C++ front end: `-Xcudafe`
  kOptimizer,  ///< libNVVM inside another compiler: `-Xnvvm`
};

/// One documented option.
struct OptionRule {
  std::string_view name;                        ///< canonical spelling, "--gpu-architecture"
  std::span<const std::string_view> spellings;  ///< all spellings, the canonical one among them
  OptionValue value = OptionValue::kNone;
  bool separate = false;  ///< the value may be the next argument
  bool joined = false;    ///< the value may follow a short spelling without `=`: `-Idir`
  bool boolean = false;   ///< the compiler takes `true` and `false` alone
  OptionEffect effect = OptionEffect::kEntersKey;
  bool names_directory = false;  ///< a header search directory, a root
  bool names_file = false;       ///< a file that the compiler includes (`--pre-include`)
  bool shows_paths = false;      ///< the output then holds the paths of sources and headers
  OptionReceiver receiver = OptionReceiver::kCompiler;
  std::string_view meaning;  ///< one line, ours
  std::string_view reason;   ///< for all effects but kEntersKey: why, and how to do without it
};

/// The table of one compiler. Static storage.
[[nodiscard]] std::span<const OptionRule> OptionRules(BuildKind kind);

/// One option of a request after its rule was applied.
struct ParsedOption {
  const OptionRule* rule = nullptr;  ///< null: not in the table; it enters the key as it is
  std::string value;                 ///< empty for options without one
  /// The one argument that the compiler is given and the fingerprint hashes:
  /// `--gpu-architecture=sm_90` whatever the client's spelling was; an unknown option verbatim.
  std::string canonical;
};

/// The end of a refusal's reason where `taken_by_compiler`.
inline constexpr std::string_view kLocalBuildAdvice =
    "; or let the client compile it, where it has its effect: --fallback local on the command "
    "line, the fallback local in a program";

/// Returns a refusal's reason, or a message with it, for callers to whom it is no advice.
[[nodiscard]] inline std::string WithoutLocalBuildAdvice(std::string message) {
  const size_t at = message.find(kLocalBuildAdvice);
  if (at != std::string::npos) message.erase(at, kLocalBuildAdvice.size());
  return message;
}

/// Why an option list can't be served at all.
struct RefusedOption {
  std::string option;  ///< as the client wrote it
  std::string reason;  ///< says what the client can do instead
  /// The compiler itself takes the options. They are refused because of the files that they read or
  /// write, which does not matter if the compiler runs as its caller.
  bool taken_by_compiler = false;
};

/// Applies the rules in order. An unknown option enters as it is, and so does an option whose value
/// is missing or is none: the compiler judges both. Those without effect are left out. Refusals
/// look inside pass-through options
/// (`-Xptxas=--options-file=F`). An option with a NUL inside is refused: the compiler would see
/// another one. Linear in the number of options.
[[nodiscard]] std::variant<std::vector<ParsedOption>, RefusedOption> ParseOptions(
    BuildKind kind, std::span<const std::string> options);

/// Appends the words of NVRTC_APPEND_FLAGS as NVRTC separates them: by blanks alone, not by tabs
/// and newlines.
void AppendWords(std::string_view text, std::vector<std::string>* options);

// Shared by the three tables. Only they and options.cc use it.

/// A string literal as a template argument.
template <size_t size>
struct SpellingText {
  char text[size];
  consteval SpellingText(const char (&literal)[size]) { std::copy_n(literal, size, text); }
  [[nodiscard]] constexpr std::string_view View() const { return {text, size - 1}; }
};

/// All spellings of one option in static storage, so that a table reads as one row an option.
template <SpellingText... spelling>
inline constexpr std::array<std::string_view, sizeof...(spelling)> kSpellings{spelling.View()...};

[[nodiscard]] std::span<const OptionRule> NvrtcOptionRules();
[[nodiscard]] std::span<const OptionRule> NvJitLinkOptionRules();
[[nodiscard]] std::span<const OptionRule> NvvmOptionRules();

/// Looks at what pass-through options (`-Xptxas`, `-Xcudafe`, `-Xnvvm`) hand to the tools behind a
/// compiler, in the order of the request: a tool's argument can be the value of the one before. Not
/// thread-safe; one object a request.
class PassedOptions {
 public:
  /// Why the tool must not be given `value`; empty: it may. The reason has static storage.
  [[nodiscard]] std::string_view Refusal(OptionReceiver receiver, std::string_view value);

 private:
  [[nodiscard]] std::string_view AssemblerRefusal(std::string_view value);

  /// The assembler's previous argument was an option whose value is the next argument.
  bool assembler_awaits_value_ = false;
};

}  // namespace cccl_cache
