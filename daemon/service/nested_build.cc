// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/nested_build.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <utility>

#include "daemon/service/field_count.h"

namespace cccl_cached {
namespace {

namespace io = google::protobuf::io;
using google::protobuf::internal::WireFormatLite;

/// Fields of one message, unknown ones among them.
constexpr int kMostFields = 64;

/// The next field's number; 0 at the end, and then `length` says whether all was well formed. Of a
/// build, which is field `build`, the stream stands before its `length` bytes, any other field is
/// skipped.
int NextField(io::ZeroCopyInputStream& stream, int build, int* length) {
  io::CodedInputStream input(&stream);
  *length = 0;
  const uint32_t tag = input.ReadTag();
  if (tag == 0) {
    *length = input.ConsumedEntireMessage() ? 0 : -1;
    return 0;
  }
  const bool is_build =
      WireFormatLite::GetTagFieldNumber(tag) == build &&
      WireFormatLite::GetTagWireType(tag) == WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  const bool well =
      is_build ? input.ReadVarintSizeAsInt(length) : WireFormatLite::SkipField(&input, tag);
  if (well) return is_build ? build : -1;
  *length = -1;
  return 0;
}

}  // namespace

// Two builds in one message would be merged into one beyond every bound.
Status CheckNestedBuild(io::ZeroCopyInputStream& stream, int number, const ServiceLimits& limits,
                        const Error& otherwise) {
  bool build = false;
  for (int fields = 0; fields < kMostFields; ++fields) {
    int length = 0;
    const int found = NextField(stream, number, &length);
    if (found == 0) return length == 0 ? Status(Ok{}) : Status(otherwise);
    if (found != number) continue;
    if (std::exchange(build, true)) return otherwise;
    io::LimitingInputStream inner(&stream, length);
    if (auto counted = CheckFieldCounts(inner, limits); !counted) return counted;
  }
  return otherwise;
}

}  // namespace cccl_cached
