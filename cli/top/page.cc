// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/top/page.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/terminal/quantities.h"

namespace cccl_cache::cli::top {

std::string Line::text() const {
  std::string text;
  for (const Span& span : spans) text += span.text;
  return text;
}

std::vector<std::string_view> Broken(std::string_view text, size_t columns) {
  std::vector<std::string_view> lines;
  while (true) {
    size_t end = Cut(text, columns).size();
    const size_t blank = end < text.size() ? text.rfind(' ', end) : 0;
    if (blank != std::string_view::npos && blank > 0) end = blank;
    lines.push_back(text.substr(0, end));
    if (end == 0 || end == text.size()) return lines;
    text.remove_prefix(end + (text[end] == ' ' ? 1 : 0));
  }
}

std::vector<Span> Bar(double filled, size_t width, Role role, bool utf8) {
  // A part that is not empty has at least one character, and a part that is not full has not all.
  const double exact = std::clamp(filled, 0.0, 1.0) * static_cast<double>(width);
  const auto full = static_cast<size_t>(exact < 1 ? std::ceil(exact) : std::floor(exact));
  std::string bar;
  for (size_t i = 0; i < full; ++i) bar += utf8 ? "█" : "#";
  std::string rest;
  for (size_t i = full; i < width; ++i) rest += utf8 ? "░" : "-";
  return {{std::move(bar), role}, {std::move(rest), Role::kFaint}};
}

void Page::Add(std::vector<Span> spans, bool selected) {
  if (left() == 0) return;
  size_t room = size_.columns;
  for (Span& span : spans) {
    span.text = Cut(Printable(span.text), room);
    room -= Width(span.text);
  }
  lines_.push_back({std::move(spans), selected});
}

void Page::AddWhole(std::string_view text, Role role) {
  for (const std::string_view line : Broken(text, size_.columns)) Add(std::string(line), role);
}

}  // namespace cccl_cache::cli::top
