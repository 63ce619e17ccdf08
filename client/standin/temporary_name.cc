// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/standin/temporary_name.h"

#include <algorithm>
#include <utility>

namespace cccl_cache::standin {
namespace {

constexpr std::string_view kFront = "tmpxft_";
constexpr size_t kDigits = 8;
// No digit is hexadecimal, so that the placeholder is no name of nvcc's.
constexpr std::string_view kPlaceholder = "tmpxft_XXXXXXXX_XXXXXXXX";

bool AreDigits(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// Returns whether the text, which begins with kFront, begins with a name of nvcc's.
bool BeginsWithName(std::string_view text) {
  return text.size() >= kPlaceholder.size() && text[kFront.size() + kDigits] == '_' &&
         AreDigits(text.substr(kFront.size(), kDigits)) &&
         AreDigits(text.substr(kFront.size() + kDigits + 1, kDigits));
}

/// Replaces each `from` by `to`, which is as long.
std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, to.size(), to);
  }
  return text;
}

}  // namespace

std::optional<TemporaryName> TemporaryName::In(std::string_view word) {
  for (size_t at = word.find(kFront); at != std::string_view::npos;
       at = word.find(kFront, at + 1)) {
    if (BeginsWithName(word.substr(at))) {
      return TemporaryName(word.substr(at, kPlaceholder.size()));
    }
  }
  return std::nullopt;
}

std::optional<std::string> TemporaryName::Hide(std::string text) const {
  if (text.find(kPlaceholder) != std::string::npos) return std::nullopt;
  if (name_.empty()) return text;
  return Replaced(std::move(text), name_, kPlaceholder);
}

std::optional<std::string> TemporaryName::Show(std::string text) const {
  if (name_.empty()) return Hide(std::move(text));
  return Replaced(std::move(text), kPlaceholder, name_);
}

}  // namespace cccl_cache::standin
