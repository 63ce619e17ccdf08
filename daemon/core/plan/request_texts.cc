// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/plan/request_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>

namespace cccl_cache::daemon {
namespace {

using cccl_cache::BuildRequest;
using cccl_cache::NvrtcProgram;

// NVRTC appends the words of this variable to the options of every compile of the process, if the
// other one has this very value (12.9 and 13.0).
constexpr std::string_view kAppendFlags = "NVRTC_APPEND_FLAGS";
constexpr std::string_view kSwitch = "NVRTCWIZ";
constexpr std::string_view kSwitchedOn = "3153394";

// Words end at blanks alone, not at tabs and newlines.
void AppendWords(std::string_view text, std::vector<std::string>* words) {
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) return;
    const size_t end = std::min(text.find(' ', begin), text.size());
    words->emplace_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace

std::vector<std::string> OptionsOf(const BuildRequest& request) {
  if (const auto* link = std::get_if<cccl_cache::LinkProgram>(&request.program)) {
    return link->options;
  }
  if (const auto* nvvm = std::get_if<cccl_cache::NvvmProgram>(&request.program)) {
    return nvvm->options;
  }
  const auto& program = std::get<NvrtcProgram>(request.program);
  std::vector<std::string> options = program.options;
  const bool on = std::ranges::any_of(program.environment, [](const auto& variable) {
    return variable.first == kSwitch && variable.second == kSwitchedOn;
  });
  for (const auto& [name, value] : program.environment) {
    if (on && name == kAppendFlags) AppendWords(value, &options);
  }
  return options;
}

Status CheckTexts(const BuildRequest& request) {
  const auto* program = std::get_if<NvrtcProgram>(&request.program);
  if (program == nullptr) return Ok{};
  const auto refuse = [](std::string_view what, size_t at) {
    return Error{
        ErrorCode::kInvalidRequest,
        fmt::format("{} has a NUL byte at offset {}; NVRTC would read it only up to there, "
                    "so send text without one",
                    what, at)};
  };
  if (const size_t at = program->source.find('\0'); at != program->source.npos) {
    return refuse("nvrtc.source", at);
  }
  for (const cccl_cache::InlineHeader& header : program->headers) {
    if (const size_t at = header.contents.find('\0'); at != header.contents.npos) {
      return refuse(fmt::format("nvrtc.headers[\"{}\"]", header.name), at);
    }
  }
  return Ok{};
}

}  // namespace cccl_cache::daemon
