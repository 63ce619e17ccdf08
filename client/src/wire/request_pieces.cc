// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/wire/request_pieces.h"

#include <functional>

namespace cccl_cache {
namespace {

enum Kind : uint64_t { kNvrtc = 1, kLink = 2, kNvvm = 3 };

// Enough for most requests without growing.
constexpr size_t kUsualPieces = 48;

std::string_view View(const std::vector<uint64_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
}

}  // namespace

// bytes := numbers, then texts, each list in the order of the fields. The numbers tell how many
// there are, and how long the texts. Lives in one process, and is never written anywhere.

RequestPieces::RequestPieces(const cccl_cache_nvrtc& program,
                             const cccl_cache_build_options& options) {
  numbers_.reserve(kUsualPieces);
  texts_.reserve(kUsualPieces);
  AddNumber(kNvrtc);
  AddText(program.source);
  AddText(program.name);
  AddTexts(program.options, program.option_count);
  AddNumber(program.header_count);
  for (size_t i = 0; i < program.header_count; ++i) {
    AddText(program.headers[i].name);
    AddText(program.headers[i].contents);
  }
  AddTexts(program.name_expressions, program.name_expression_count);
  AddNumber(program.environment_count);
  for (size_t i = 0; i < program.environment_count; ++i) {
    AddText(program.environment[i].name);
    AddText(program.environment[i].value);
  }
  AddNumber(program.append_toolchain_headers != 0 ? 1 : 0);
  AddOptions(options);
}

RequestPieces::RequestPieces(const cccl_cache_link& program,
                             const cccl_cache_build_options& options) {
  AddNumber(kLink);
  AddNumber(program.input_count);
  for (size_t i = 0; i < program.input_count; ++i) {
    AddNumber(static_cast<uint64_t>(program.inputs[i].type));
    AddText(program.inputs[i].name);
    AddText(program.inputs[i].contents);
  }
  AddTexts(program.options, program.option_count);
  AddOptions(options);
}

RequestPieces::RequestPieces(const cccl_cache_nvvm& program,
                             const cccl_cache_build_options& options) {
  AddNumber(kNvvm);
  AddNumber(program.module_count);
  for (size_t i = 0; i < program.module_count; ++i) {
    AddText(program.modules[i].name);
    AddText(program.modules[i].contents);
    AddNumber(program.modules[i].lazy != 0 ? 1 : 0);
  }
  AddTexts(program.options, program.option_count);
  AddNumber(program.add_libdevice != 0 ? 1 : 0);
  AddOptions(options);
}

void RequestPieces::AddText(cccl_cache_bytes text) {
  AddNumber(text.size);
  if (text.size > 0) texts_.emplace_back(text.data, text.size);
}

void RequestPieces::AddTexts(const cccl_cache_bytes* texts, size_t count) {
  AddNumber(count);
  for (size_t i = 0; i < count; ++i) AddText(texts[i]);
}

void RequestPieces::AddOptions(const cccl_cache_build_options& options) {
  AddText(options.toolchain_id);
  AddText(options.toolchain_version);
  AddNumber(options.toolchain_major);
  AddNumber(options.driver_version);
  AddText(options.working_directory);
  AddNumber(options.wanted_count);
  for (size_t i = 0; i < options.wanted_count; ++i) {
    AddNumber(static_cast<uint64_t>(options.wanted[i]));
  }
}

size_t RequestPieces::Hash() const {
  const std::hash<std::string_view> hash;
  size_t all = hash(View(numbers_));
  for (const std::string_view text : texts_) all = all * 0x9e3779b97f4a7c15u + hash(text);
  return all;
}

std::string RequestPieces::Bytes() const {
  const std::string_view numbers = View(numbers_);
  size_t size = numbers.size();
  for (const std::string_view text : texts_) size += text.size();
  std::string bytes;
  bytes.reserve(size);
  bytes.append(numbers);
  for (const std::string_view text : texts_) bytes.append(text);
  return bytes;
}

bool RequestPieces::Same(std::string_view bytes) const {
  const auto follows = [&bytes](std::string_view piece) {
    if (!bytes.starts_with(piece)) return false;
    bytes.remove_prefix(piece.size());
    return true;
  };
  if (!follows(View(numbers_))) return false;
  for (const std::string_view text : texts_) {
    if (!follows(text)) return false;
  }
  return bytes.empty();
}

}  // namespace cccl_cache
