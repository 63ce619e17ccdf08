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

/// The meaning of each documented option for a cache: one table for each compiler in
/// {nvrtc,nvjitlink,nvvm}_options.cc. All tables are constant; every function here is thread-safe.

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
  kRefused,      ///< the compiler would read or write a file, or worse: `reason` says what
  kUncacheable,  ///< compiled, never kept: `reason` says why
  kNone,         ///< accepted, but not passed to the compiler: `reason` says why
};

/// The tool behind the compiler that gets the option's value. That tool's own file options are
/// refused.
enum class OptionReceiver : uint8_t {
  kCompiler,   ///< no other tool: the compiler itself uses the value
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
  bool boolean = false;   ///< the compiler accepts only `true` and `false`
  OptionEffect effect = OptionEffect::kEntersKey;
  bool names_directory = false;  ///< a header search directory, a root
  bool names_file = false;       ///< a file that the compiler includes (`--pre-include`)
  bool shows_paths = false;      ///< the output then shows the paths of sources and headers
  OptionReceiver receiver = OptionReceiver::kCompiler;
  std::string_view meaning;  ///< one line in our words
  std::string_view reason;   ///< for all effects but kEntersKey: why, and what to do instead
};

/// The table of one compiler. Static storage.
[[nodiscard]] std::span<const OptionRule> OptionRules(BuildKind kind);

/// One option of a request after its rule was applied.
struct ParsedOption {
  const OptionRule* rule = nullptr;  ///< null: not in the table; it enters the key unchanged
  std::string value;                 ///< empty for options without one
  /// The one argument that the compiler gets and the fingerprint covers: `--gpu-architecture=sm_90`
  /// for any spelling of the client; an unknown option verbatim.
  std::string canonical;
};

/// The end of a refusal's reason if `taken_by_compiler`.
inline constexpr std::string_view kLocalBuildAdvice =
    "; or let the client compile it, where it has its effect: --fallback local on the command "
    "line, the fallback local in a program";

/// Returns a reason or message without that advice, for callers that can't follow it.
[[nodiscard]] inline std::string WithoutLocalBuildAdvice(std::string message) {
  const size_t at = message.find(kLocalBuildAdvice);
  if (at != std::string::npos) message.erase(at, kLocalBuildAdvice.size());
  return message;
}

/// Why a list of options can't be served.
struct RefusedOption {
  std::string option;  ///< as the client wrote it
  std::string reason;  ///< says what the client can do instead
  /// The compiler accepts the options. They are refused because of the files that they read or
  /// write, which is harmless if the compiler runs as its caller.
  bool taken_by_compiler = false;
};

/// Applies the rules in order. An unknown option enters the key unchanged, and so does an option
/// with a missing or invalid value: the compiler judges both. Options without effect are left out.
/// Pass-through options (`-Xptxas=--options-file=F`) are refused by the options in their values. An
/// option with a NUL inside is refused, because the compiler would read only a part of it. Linear
/// in the number of options.
[[nodiscard]] std::variant<std::vector<ParsedOption>, RefusedOption> ParseOptions(
    BuildKind kind, std::span<const std::string> options);

/// Appends the words of NVRTC_APPEND_FLAGS as NVRTC separates them: at blanks, but not at tabs and
/// newlines.
void AppendWords(std::string_view text, std::vector<std::string>* options);

// For the three tables and options.cc only.

/// A string literal as a template argument.
template <size_t size>
struct SpellingText {
  char text[size];
  consteval SpellingText(const char (&literal)[size]) { std::copy_n(literal, size, text); }
  [[nodiscard]] constexpr std::string_view View() const { return {text, size - 1}; }
};

/// All spellings of one option in static storage, so that each row of a table is one option.
template <SpellingText... spelling>
inline constexpr std::array<std::string_view, sizeof...(spelling)> kSpellings{spelling.View()...};

[[nodiscard]] std::span<const OptionRule> NvrtcOptionRules();
[[nodiscard]] std::span<const OptionRule> NvJitLinkOptionRules();
[[nodiscard]] std::span<const OptionRule> NvvmOptionRules();

/// Checks the values that pass-through options (`-Xptxas`, `-Xcudafe`, `-Xnvvm`) give to the tools
/// behind a compiler, in the order of the request: an argument of a tool can be the value of the
/// one before. Not thread-safe; one object per request.
class PassedOptions {
 public:
  /// Returns why the tool must not get `value`, or "". Static storage.
  [[nodiscard]] std::string_view Refusal(OptionReceiver receiver, std::string_view value);

 private:
  [[nodiscard]] std::string_view AssemblerRefusal(std::string_view value);

  /// The assembler's previous argument was an option whose value is the next argument.
  bool assembler_awaits_value_ = false;
};

}  // namespace cccl_cache
