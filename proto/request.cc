// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/request.h"

namespace cccl_cache {
namespace {

template <typename Items>
size_t BytesOfAll(const Items& items) {
  size_t bytes = 0;
  for (const auto& item : items) bytes += item.contents.size();
  return bytes;
}

size_t Bytes(const NvrtcProgram& program) {
  return program.source.size() + BytesOfAll(program.headers);
}
size_t Bytes(const LinkProgram& program) { return BytesOfAll(program.inputs); }
size_t Bytes(const NvvmProgram& program) { return BytesOfAll(program.modules); }

}  // namespace

size_t BytesOf(const BuildRequest& request) {
  return std::visit([](const auto& program) { return Bytes(program); }, request.program);
}

}  // namespace cccl_cache
