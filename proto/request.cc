// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/request.h"

namespace cccl_cache {
namespace {

/// Returns the size of items with names and contents.
template <typename Items>
size_t BytesOfAll(const Items& items) {
  size_t bytes = 0;
  for (const auto& item : items) bytes += item.name.size() + item.contents.size();
  return bytes;
}

size_t BytesOfAll(const std::vector<std::string>& texts) {
  size_t bytes = 0;
  for (const std::string& text : texts) bytes += sizeof(text) + text.size();
  return bytes;
}

size_t Bytes(const NvrtcProgram& program) {
  size_t bytes = program.source.size() + program.name.size() + BytesOfAll(program.headers) +
                 BytesOfAll(program.options) + BytesOfAll(program.name_expressions);
  for (const auto& [name, value] : program.environment) bytes += name.size() + value.size();
  return bytes;
}
size_t Bytes(const LinkProgram& program) {
  return BytesOfAll(program.inputs) + BytesOfAll(program.options);
}
size_t Bytes(const NvvmProgram& program) {
  return BytesOfAll(program.modules) + BytesOfAll(program.options);
}

}  // namespace

size_t BytesOf(const BuildRequest& request) {
  return std::visit([](const auto& program) { return Bytes(program); }, request.program) +
         request.working_directory.size();
}

}  // namespace cccl_cache
