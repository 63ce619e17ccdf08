// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/options/options.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace cccl_cache {
namespace {

constexpr std::string_view kNulReason =
    "it holds a NUL character, at which the compiler would take it to end; send it without";

constexpr std::string_view kTwoScratchReason =
    "a program's headers are unpacked into one directory; name it once";

/// Returns whether this compiler ignores white space around an argument: NVRTC and libNVVM do,
/// nvJitLink does not.
bool DropsWhiteSpace(BuildKind kind) { return kind != BuildKind::kLink; }

bool HasNul(const std::string& argument) { return argument.find('\0') != std::string::npos; }

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

/// The rule for an argument, and the value in the argument. `rule` is null if no rule matches.
/// `value` is none if the argument has no value.
struct Match {
  const OptionRule* rule = nullptr;
  std::optional<std::string_view> value;
};

bool HasSpelling(const OptionRule& rule, std::string_view text) {
  return std::find(rule.spellings.begin(), rule.spellings.end(), text) != rule.spellings.end();
}

/// Returns the spelling of two characters with which the argument begins, if the value may follow
/// without `=`: `-I` for `-Idir`. Returns "" if there is none.
std::string_view JoinedSpelling(const OptionRule& rule, std::string_view text) {
  for (std::string_view spelling : rule.spellings) {
    if (spelling.size() == 2 && text.starts_with(spelling)) return spelling;
  }
  return {};
}

/// Returns whether the compiler accepts this value of the option.
bool IsValue(const OptionRule& rule, std::string_view value) {
  return rule.boolean ? value == "true" || value == "false" : !value.empty();
}

Match FindRule(std::span<const OptionRule> rules, std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  for (const OptionRule& rule : rules) {
    if (!HasSpelling(rule, name)) continue;
    if (equals == std::string_view::npos) return {&rule, std::nullopt};
    return {&rule, text.substr(equals + 1)};
  }
  for (const OptionRule& rule : rules) {
    if (!rule.joined) continue;
    const std::string_view spelling = JoinedSpelling(rule, text);
    if (!spelling.empty()) return {&rule, Trim(text.substr(spelling.size()))};
  }
  return {};
}

/// Reads the options of one request, from first to last.
class Parser {
 public:
  Parser(BuildKind kind, std::span<const std::string> options)
      : rules_(OptionRules(kind)), trims_(DropsWhiteSpace(kind)), options_(options) {}

  std::variant<std::vector<ParsedOption>, RefusedOption> Parse() {
    parsed_.reserve(options_.size());
    while (next_ < options_.size()) {
      if (std::string_view reason = TakeOption(); !reason.empty()) {
        return Refused(reason);
      }
    }
    if (std::string_view reason = passed_.RefusalOfEnd(); !reason.empty()) return Refused(reason);
    return std::move(parsed_);
  }

 private:
  RefusedOption Refused(std::string_view reason) {
    const bool taken_by_compiler = !AnyHasNul();
    std::string text(reason);
    if (taken_by_compiler) text += kLocalBuildAdvice;
    return {std::move(as_written_), std::move(text), taken_by_compiler};
  }
  [[nodiscard]] bool AnyHasNul() const { return std::ranges::any_of(options_, HasNul); }

  /// Reads one option with its value. Returns the reason if it is refused.
  std::string_view TakeOption() {
    const std::string& argument = options_[next_++];
    as_written_ = argument;
    if (HasNul(argument)) return kNulReason;
    Match match = FindRule(rules_, trims_ ? Trim(argument) : std::string_view(argument));
    if (match.rule == nullptr) return Keep(nullptr, {}, argument);
    const OptionRule& rule = *match.rule;
    if (rule.effect == OptionEffect::kRefused) return rule.reason;
    if (rule.value == OptionValue::kRequired && !match.value)
      return TakeNextAsValue(rule, argument);
    if (rule.value == OptionValue::kNone && match.value) return Keep(nullptr, {}, argument);
    if (!match.value && rule.effect == OptionEffect::kNone) return {};
    if (!match.value) return Keep(&rule, {}, std::string(rule.name));
    return KeepWithValue(rule, *match.value);
  }

  std::string_view TakeNextAsValue(const OptionRule& rule, const std::string& argument) {
    if (rule.separate && next_ < options_.size()) {
      const std::string& value = options_[next_++];
      as_written_ += ' ' + value;
      if (HasNul(value)) return kNulReason;
      return KeepWithValue(rule, Trim(value));
    }
    // Without a value, `-I` as the last argument means the working directory.
    if (rule.names_directory) return KeepWithValue(rule, {});
    return Keep(nullptr, {}, argument);
  }

  std::string_view KeepWithValue(const OptionRule& rule, std::string_view value) {
    if (std::string_view reason = passed_.Refusal(rule.receiver, value); !reason.empty()) {
      return reason;
    }
    if (rule.effect == OptionEffect::kNone && IsValue(rule, value)) return {};
    if (rule.names_scratch && value.empty()) return Keep(nullptr, {}, as_written_);
    if (rule.names_scratch && std::ranges::any_of(parsed_, [&](const ParsedOption& option) {
          return option.rule == &rule;
        })) {
      return kTwoScratchReason;
    }
    std::string canonical(rule.name);
    canonical += '=';
    canonical += value;
    return Keep(&rule, std::string(value), std::move(canonical));
  }

  std::string_view Keep(const OptionRule* rule, std::string value, std::string canonical) {
    parsed_.push_back({rule, std::move(value), std::move(canonical)});
    return {};
  }

  const std::span<const OptionRule> rules_;
  const bool trims_;
  const std::span<const std::string> options_;
  size_t next_ = 0;
  std::string as_written_;  ///< the current option with its value, as the client wrote it
  PassedOptions passed_;
  std::vector<ParsedOption> parsed_;
};

constexpr std::string_view kAssemblerFileReason =
    "the assembler would read or write a file by itself; leave it out, give what the file says as "
    "options of their own";
constexpr std::string_view kAssemblerInputReason =
    "the assembler would take it for the name of a file to assemble; pass one option in each "
    "-Xptxas, as -Xptxas=--name=value";
constexpr std::string_view kFrontEndReason =
    "options of the C++ front end can read and write files; only --diag_suppress, --diag_error, "
    "--diag_warning, --diag_remark and --diag_default with error numbers are passed on; use the "
    "compiler's own option (--diag-suppress=...)";
constexpr std::string_view kOptimizerReason =
    "LLVM's own options can write files; leave it out (only -disable-SCCPPass, "
    "-do-base-address-strength-reduce=N, -alias-set-saturation-threshold=N and "
    "-full-inst-combine=N are passed on)";

/// Those options of ptxas, also undocumented ones, whose value is the name of a file. Without
/// dashes; measured with ptxas 13.0.
constexpr std::string_view kAssemblerFileOptions[] = {"options-file",
                                                      "optf",
                                                      "output-file",
                                                      "o",
                                                      "nv-host",
                                                      "query-controls",
                                                      "apply-controls",
                                                      "compiler-stats-file",
                                                      "fdevice-time-trace",
                                                      "dump-perf-metrics-file",
                                                      "use-trace-pid"};

/// Those options of ptxas whose value may be the next argument. Measured: -O is not one of them,
/// because `-O 1` opens a file named 1.
constexpr std::string_view kAssemblerValueOptions[] = {"--Ofast-compile",
                                                       "-Ofc",
                                                       "--allow-expensive-optimizations",
                                                       "-allow-expensive-optimizations",
                                                       "--def-load-cache",
                                                       "-dlcm",
                                                       "--def-store-cache",
                                                       "-dscm",
                                                       "--device-function-maxrregcount",
                                                       "-func-maxrregcount",
                                                       "--device-stack-protector",
                                                       "-device-stack-protector",
                                                       "--entry",
                                                       "-e",
                                                       "--fmad",
                                                       "-fmad",
                                                       "--force-load-cache",
                                                       "-flcm",
                                                       "--force-store-cache",
                                                       "-fscm",
                                                       "--gpu-name",
                                                       "-arch",
                                                       "--machine",
                                                       "-m",
                                                       "--maxntid",
                                                       "-maxntid",
                                                       "--maxrregcount",
                                                       "-maxrregcount",
                                                       "--minnctapersm",
                                                       "-minnctapersm",
                                                       "--opt-level",
                                                       "--position-independent-code",
                                                       "-pic",
                                                       "--register-usage-level",
                                                       "-regUsageLevel",
                                                       "--sanitize",
                                                       "-sanitize",
                                                       "--split-compile",
                                                       "-split-compile"};

constexpr std::string_view kFrontEndOptions[] = {
    "--diag_suppress", "--diag_error", "--diag_warning", "--diag_remark", "--diag_default"};

/// The argument for libNVVM after which the next one is an option of LLVM's optimizer.
constexpr std::string_view kLlvmOption = "-Xopt";
/// The options of LLVM that are passed on: cuDNN uses them, and they turn a pass on or off or limit
/// it.
constexpr std::string_view kLlvmFlag = "-disable-SCCPPass";
constexpr std::string_view kLlvmNumbers[] = {
    "-do-base-address-strength-reduce", "-alias-set-saturation-threshold", "-full-inst-combine"};

constexpr std::string_view kSeparators = " \t\n\v\f\r,;\"'";

bool Contains(std::span<const std::string_view> list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool IsHarmlessForLlvm(std::string_view value) {
  constexpr size_t kMaxDigits = 9;
  const size_t equals = value.find('=');
  if (equals == std::string_view::npos) return value == kLlvmFlag;
  const std::string_view number = value.substr(equals + 1);
  return Contains(kLlvmNumbers, value.substr(0, equals)) && !number.empty() &&
         number.size() <= kMaxDigits &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

bool NamesAssemblerFile(std::string_view word) {
  if (!word.starts_with('-')) return false;
  const size_t dashes = word.find_first_not_of('-');
  if (dashes == std::string_view::npos) return false;
  word.remove_prefix(dashes);
  return Contains(kAssemblerFileOptions, word.substr(0, word.find('=')));
}

}  // namespace

std::span<const OptionRule> OptionRules(BuildKind kind) {
  switch (kind) {
    case BuildKind::kNvrtc:
      return NvrtcOptionRules();
    case BuildKind::kLink:
      return NvJitLinkOptionRules();
    case BuildKind::kNvvm:
      return NvvmOptionRules();
  }
  return {};
}

std::variant<std::vector<ParsedOption>, RefusedOption> ParseOptions(
    BuildKind kind, std::span<const std::string> options) {
  return Parser(kind, options).Parse();
}

std::string_view PassedOptions::Refusal(OptionReceiver receiver, std::string_view value) {
  switch (receiver) {
    case OptionReceiver::kCompiler:
      return {};
    case OptionReceiver::kAssembler:
      return AssemblerRefusal(value);
    case OptionReceiver::kFrontEnd: {
      const size_t equals = value.find('=');
      const bool numbers =
          equals != std::string_view::npos &&
          value.find_first_not_of("0123456789,", equals + 1) == std::string_view::npos;
      return numbers && Contains(kFrontEndOptions, value.substr(0, equals)) ? std::string_view{}
                                                                            : kFrontEndReason;
    }
    case OptionReceiver::kOptimizer:
      return OptimizerRefusal(value);
  }
  return {};
}

std::string_view PassedOptions::RefusalOfEnd() const {
  return optimizer_awaits_value_ ? kOptimizerReason : std::string_view{};
}

void AppendWords(std::string_view text, std::vector<std::string>* options) {
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) return;
    const size_t end = std::min(text.find(' ', begin), text.size());
    options->emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

std::string_view PassedOptions::OptimizerRefusal(std::string_view value) {
  const bool is_value = std::exchange(optimizer_awaits_value_, false);
  optimizer_awaits_value_ = !is_value && value == kLlvmOption;
  const bool passed = is_value ? IsHarmlessForLlvm(value)
                               : value == kLlvmOption || value.find("-X") == std::string_view::npos;
  return passed ? std::string_view{} : kOptimizerReason;
}

std::string_view PassedOptions::AssemblerRefusal(std::string_view value) {
  const bool is_value = assembler_awaits_value_;
  assembler_awaits_value_ = !is_value && Contains(kAssemblerValueOptions, value);
  // Compilers pass the value to ptxas as one argument today. A future release might split it at
  // these characters. The words are checked as well, so that ptxas can't read files then. No valid
  // value has such a word today.
  for (size_t start = value.find_first_not_of(kSeparators); start != std::string_view::npos;
       start = value.find_first_not_of(kSeparators, start)) {
    const size_t end = std::min(value.find_first_of(kSeparators, start), value.size());
    if (NamesAssemblerFile(value.substr(start, end - start))) return kAssemblerFileReason;
    start = end;
  }
  return is_value || value.starts_with('-') ? std::string_view{} : kAssemblerInputReason;
}

}  // namespace cccl_cache
