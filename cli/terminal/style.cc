// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/style.h"

#include <unistd.h>

#include <cstdlib>

namespace cccl_cache::cli {

Style StyleOf(Role role) {
  switch (role) {
    case Role::kPlain:
      return {};
    case Role::kTitle:
      return {.bold = true};
    case Role::kGood:
      return {.colour = Style::kGreen};
    case Role::kWarning:
      return {.colour = Style::kYellow};
    case Role::kBad:
      return {.colour = Style::kRed};
    case Role::kName:
      return {.colour = Style::kCyan};
    case Role::kFaint:
      return {.dim = true};
    case Role::kSelected:
      return {.reverse = true};
  }
  return {};
}

bool WantsColour(int descriptor) {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(descriptor) != 0 && (none == nullptr || *none == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string Painted(std::string_view text, Role role, bool wanted) {
  if (!wanted || role == Role::kPlain || text.empty()) return std::string(text);
  constexpr int kForeground = 30;
  const Style style = StyleOf(role);
  std::string parameters;
  const auto add = [&parameters](bool set, int parameter) {
    if (set) parameters += (parameters.empty() ? "" : ";") + std::to_string(parameter);
  };
  add(style.bold, 1);
  add(style.dim, 2);
  add(style.reverse, 7);
  add(style.colour != Style::kDefault, kForeground + style.colour);
  return "\033[" + parameters + "m" + std::string(text) + "\033[0m";
}

}  // namespace cccl_cache::cli
