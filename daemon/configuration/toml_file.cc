// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/toml_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "proto/nearest_name.h"

namespace cccl_cache::daemon {
namespace {

Error Bad(std::string message) { return Error{ErrorCode::kInvalidRequest, std::move(message)}; }

Result<std::string> ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()) || file.bad()) {
    // An empty file makes the insertion fail as well, and is a good configuration.
    if (file.is_open() && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) {
      return std::string();
    }
    return Bad(fmt::format("{}: can't be read: {}", path, std::strerror(errno)));
  }
  return text.str();
}

Result<toml::table> Parse(const std::string& text, const std::string& path) {
  // toml++ reports by an exception: it ends here.
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return Bad(fmt::format("{}:{}: {}", path, error.source().begin.line, error.description()));
  }
}

std::string KnownKeys(std::string_view key) {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) names.emplace_back(setting.name);
  return cccl_cache::DidYouMean(key, names);
}

std::string Expected(const Setting& setting) {
  const char* one = setting.bare ? "a number" : "a string in quotes";
  return setting.list ? fmt::format("{}, or an array of them", one) : one;
}

/// None if the node is not written in the way that this setting is.
std::optional<std::string> OneText(const toml::node& node, const Setting& setting) {
  if (setting.bare) {
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    return std::nullopt;
  }
  if (const auto* text = node.as_string()) return text->get();
  return std::nullopt;
}

Result<Assignment> Read(const Setting& setting, const toml::node& node, std::string origin) {
  Assignment assignment{&setting, {}, std::move(origin)};
  const toml::array* array = setting.list ? node.as_array() : nullptr;
  const Error mismatch =
      Bad(fmt::format("{}: {}: write {}", assignment.origin, setting.name, Expected(setting)));
  if (array == nullptr) {
    std::optional<std::string> text = OneText(node, setting);
    if (!text) return mismatch;
    assignment.texts.push_back(*std::move(text));
    return assignment;
  }
  for (const toml::node& element : *array) {
    std::optional<std::string> text = OneText(element, setting);
    if (!text) return mismatch;
    assignment.texts.push_back(*std::move(text));
  }
  return assignment;
}

}  // namespace

Result<std::vector<Assignment>> ReadTomlFile(const std::string& path) {
  const Result<std::string> text = ReadText(path);
  if (!text) return text.error();
  const Result<toml::table> table = Parse(*text, path);
  if (!table) return table.error();
  std::vector<Assignment> assignments;
  for (const auto& [key, node] : *table) {
    std::string origin = fmt::format("{}:{}", path, key.source().begin.line);
    const Setting* setting = FindSetting(key.str());
    if (setting == nullptr) {
      return Bad(fmt::format("{}: unknown key {}{}", origin, key.str(), KnownKeys(key.str())));
    }
    Result<Assignment> assignment = Read(*setting, node, std::move(origin));
    if (!assignment) return assignment.error();
    assignments.push_back(*std::move(assignment));
  }
  return assignments;
}

}  // namespace cccl_cache::daemon
