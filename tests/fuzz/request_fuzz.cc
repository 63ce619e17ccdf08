// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// What a client sends as a BuildRequest: counted, parsed, converted.
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "daemon/service/convert.h"
#include "daemon/service/field_count.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const cccl_cached::ServiceLimits limits;
  google::protobuf::io::ArrayInputStream stream(data, static_cast<int>(size), 64);
  if (!cccl_cached::CheckFieldCounts(stream, limits)) return 0;
  cccl_cache::v1::BuildRequest message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto converted = cccl_cached::FromProto(
      std::move(message), limits,
      [](const cccl_cache::Digest&) { return std::make_shared<const std::string>("uploaded"); });
  if (converted && converted->request == nullptr) __builtin_trap();
  return 0;
}
