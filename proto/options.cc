// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "proto/passed_options.h"

namespace cccl_cache {
namespace {

constexpr std::string_view kNulReason =
    "it holds a NUL character, at which the compiler would take it to end; send it without";

/// NVRTC and libNVVM drop white space around an argument; nvJitLink does not.
bool DropsWhiteSpace(BuildKind kind) { return kind != BuildKind::kLink; }

bool HasNul(const std::string& argument) { return argument.find('\0') != std::string::npos; }

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

/// A rule and where the value of this argument is; without a value: none follows in the same
/// argument.
struct Match {
  const OptionRule* rule = nullptr;
  std::optional<std::string_view> value;
};

bool HasSpelling(const OptionRule& rule, std::string_view text) {
  return std::find(rule.spellings.begin(), rule.spellings.end(), text) != rule.spellings.end();
}

/// The short spelling that a joined value follows, as in `-Idir`; empty: none.
std::string_view JoinedSpelling(const OptionRule& rule, std::string_view text) {
  for (std::string_view spelling : rule.spellings) {
    if (spelling.size() == 2 && text.starts_with(spelling)) return spelling;
  }
  return {};
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

/// Goes over the options of one request, front to back.
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

  /// Takes one option with its value; the reason if it is refused.
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
    // `-I` as the last argument means the working directory.
    if (rule.names_directory) return KeepWithValue(rule, {});
    return Keep(nullptr, {}, argument);
  }

  std::string_view KeepWithValue(const OptionRule& rule, std::string_view value) {
    if (std::string_view reason = passed_.Refusal(rule.receiver, value); !reason.empty()) {
      return reason;
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
  std::string as_written_;  ///< the option that is being taken, with its value
  PassedOptions passed_;
  std::vector<ParsedOption> parsed_;
};

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

}  // namespace cccl_cache
