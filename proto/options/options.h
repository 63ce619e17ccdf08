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

/// The options that the compilers document, and the effect of each on caching. Each compiler has a
/// table in {nvrtc,nvjitlink,nvvm}_options.cc. The tables are constant, and the functions in this
/// file are thread-safe.

namespace cccl_cache {

/// Where the value of an option is.
enum class OptionValue : uint8_t {
  kNone,      ///< `--flag`
  kOptional,  ///< `--flag` or `--flag=value`
  kRequired,  ///< `--name=value`; also `--name value` in two arguments if `separate`, and `-Nvalue`
              ///< if `joined`
};

/// The way in which the daemon handles an option. Each option has exactly one effect.
enum class OptionEffect : uint8_t {
  kEntersKey,    ///< passed to the compiler and part of the key: it can change the output
  kRefused,      ///< refused, for example because the compiler would write a file; see `reason`
  kUncacheable,  ///< passed to the compiler, but the output is not stored; see `reason`
  kNone,         ///< accepted, but not passed to the compiler; see `reason`
};

/// The tool to which the compiler passes the option's value. Options of that tool that name files
/// are refused.
enum class OptionReceiver : uint8_t {
  kCompiler,   ///< no other tool: the compiler itself uses the value
  kAssembler,  ///< ptxas, by `-Xptxas`
  kFrontEnd,   ///< the C++ front end, by `-Xcudafe`
  kOptimizer,  ///< libNVVM inside NVRTC or nvJitLink, by `-Xnvvm`
};

/// A row of a table: one documented option.
struct OptionRule {
  std::string_view name;                        ///< canonical spelling, "--gpu-architecture"
  std::span<const std::string_view> spellings;  ///< all spellings, the canonical one among them
  OptionValue value = OptionValue::kNone;
  bool separate = false;  ///< the value may be the next argument
  bool joined = false;    ///< the value may directly follow a short spelling: `-Idir`
  bool boolean = false;   ///< the compiler accepts only `true` and `false`
  OptionEffect effect = OptionEffect::kEntersKey;
  bool names_directory = false;  ///< the value is a directory in which headers are searched
  /// The value is an empty directory for the headers that the compiler's library contains. Its name
  /// is not part of the key, because the compiler sees another one.
  bool names_scratch = false;
  bool names_file = false;   ///< the value is the name of a file: `--pre-include`
  bool shows_paths = false;  ///< with this option, the output has paths of sources and headers
  OptionReceiver receiver = OptionReceiver::kCompiler;
  std::string_view meaning;  ///< one line that explains the option to users
  std::string_view reason;   ///< why it is handled so, and what users can do; empty for kEntersKey
};

/// The table of one compiler. Static storage.
[[nodiscard]] std::span<const OptionRule> OptionRules(BuildKind kind);

/// One option of a request, as its rule interprets it.
struct ParsedOption {
  const OptionRule* rule = nullptr;  ///< null if no rule matches; the argument then enters the key
  std::string value;                 ///< empty if the option has no value
  /// The argument that the compiler gets and that enters the fingerprint:
  /// `--gpu-architecture=sm_90`, whichever spelling the client used. If no rule matches, it is the
  /// client's argument.
  std::string canonical;
};

/// The end of RefusedOption::reason if `taken_by_compiler` is true.
inline constexpr std::string_view kLocalBuildAdvice =
    "; or let the client compile it, where it has its effect: --fallback local on the command "
    "line, the fallback local in a program";

/// Returns the message without kLocalBuildAdvice. For callers for which that advice is of no use.
[[nodiscard]] inline std::string WithoutLocalBuildAdvice(std::string message) {
  const size_t at = message.find(kLocalBuildAdvice);
  if (at != std::string::npos) message.erase(at, kLocalBuildAdvice.size());
  return message;
}

/// The first option that the daemon refuses, and why.
struct RefusedOption {
  std::string option;  ///< as the client wrote it
  std::string reason;  ///< says what the client can do instead
  /// Whether the compiler itself accepts the options. The daemon then refuses the option only
  /// because of the files that it makes the compiler read or write. These do no harm if the
  /// compiler runs with the rights of the client.
  bool taken_by_compiler = false;
};

/// Applies the rules to the options in order. An option without a rule enters the key unchanged. So
/// does an option whose value is missing or invalid, because the compiler must report the error.
/// Options with the effect kNone are left out. For options that pass a value to another tool
/// (`-Xptxas=--options-file=F`), the value is checked (PassedOptions). An option with a NUL is
/// refused, because the compiler would read only the part before it. Linear in the number of
/// options.
[[nodiscard]] std::variant<std::vector<ParsedOption>, RefusedOption> ParseOptions(
    BuildKind kind, std::span<const std::string> options);

/// Appends the words of the environment variable NVRTC_APPEND_FLAGS. Words are separated as in
/// NVRTC: at blanks, but not at tabs and newlines.
void AppendWords(std::string_view text, std::vector<std::string>* options);

// The following definitions are only for options.cc and the three tables.

/// A string literal that can be a template argument.
template <size_t size>
struct SpellingText {
  char text[size];
  consteval SpellingText(const char (&literal)[size]) { std::copy_n(literal, size, text); }
  [[nodiscard]] constexpr std::string_view View() const { return {text, size - 1}; }
};

/// The spellings of one option in static storage, so that a row of a table can refer to them.
template <SpellingText... spelling>
inline constexpr std::array<std::string_view, sizeof...(spelling)> kSpellings{spelling.View()...};

[[nodiscard]] std::span<const OptionRule> NvrtcOptionRules();
[[nodiscard]] std::span<const OptionRule> NvJitLinkOptionRules();
[[nodiscard]] std::span<const OptionRule> NvvmOptionRules();

/// Checks the values that the options `-Xptxas`, `-Xcudafe` and `-Xnvvm` pass to other tools. To be
/// called in the order of the request, because an argument of ptxas or libNVVM may be the value of
/// the argument before it. Not thread-safe; each request needs its own object.
class PassedOptions {
 public:
  /// Returns the reason why `receiver` must not get `value`, or "". The text has static storage.
  [[nodiscard]] std::string_view Refusal(OptionReceiver receiver, std::string_view value);
  /// To be called after the last option. Returns the reason why the request must not end here, or
  /// "": libNVVM ends the process if `-Xopt` has no value.
  [[nodiscard]] std::string_view RefusalOfEnd() const;

 private:
  [[nodiscard]] std::string_view AssemblerRefusal(std::string_view value);
  [[nodiscard]] std::string_view OptimizerRefusal(std::string_view value);

  /// The previous argument for ptxas was an option whose value is the next argument.
  bool assembler_awaits_value_ = false;
  /// The previous argument for libNVVM was `-Xopt`.
  bool optimizer_awaits_value_ = false;
};

}  // namespace cccl_cache
