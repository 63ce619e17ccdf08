// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/field_count.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <string_view>

#include "cccl_cache/v1/build.pb.h"

namespace cccl_cached {
namespace {

using google::protobuf::internal::WireFormatLite;
namespace v1 = cccl_cache::v1;

/// Fields of one message that no list explains, unknown ones among them.
constexpr uint64_t kOtherFields = 1024;
constexpr size_t kNumbers = 16;

using Counts = std::array<uint64_t, kNumbers>;

struct CountedList {
  int program;
  int field;
  std::string_view name;
};

constexpr CountedList kHeaders{v1::BuildRequest::kNvrtcFieldNumber,
                               v1::NvrtcProgram::kHeadersFieldNumber, "nvrtc.headers"};
constexpr CountedList kLists[] = {
    {v1::BuildRequest::kNvrtcFieldNumber, v1::NvrtcProgram::kOptionsFieldNumber, "nvrtc.options"},
    {v1::BuildRequest::kNvrtcFieldNumber, v1::NvrtcProgram::kNameExpressionsFieldNumber,
     "nvrtc.name_expressions"},
    {v1::BuildRequest::kNvrtcFieldNumber, v1::NvrtcProgram::kEnvironmentFieldNumber,
     "nvrtc.environment"},
    {v1::BuildRequest::kLinkFieldNumber, v1::LinkProgram::kInputsFieldNumber, "link.inputs"},
    {v1::BuildRequest::kLinkFieldNumber, v1::LinkProgram::kOptionsFieldNumber, "link.options"},
    {v1::BuildRequest::kNvvmFieldNumber, v1::NvvmProgram::kModulesFieldNumber, "nvvm.modules"},
    {v1::BuildRequest::kNvvmFieldNumber, v1::NvvmProgram::kOptionsFieldNumber, "nvvm.options"},
};

/// Counts the fields of the message at hand by number; what has a greater number counts as 0.
bool CountFields(google::protobuf::io::CodedInputStream& input, Counts& counts) {
  while (const uint32_t tag = input.ReadTag()) {
    const auto number = static_cast<size_t>(WireFormatLite::GetTagFieldNumber(tag));
    ++counts[number < kNumbers ? number : 0];
    if (!WireFormatLite::SkipField(&input, tag)) return false;
  }
  return input.ConsumedEntireMessage();
}

Status CheckList(const Counts& counts, const CountedList& list, size_t limit) {
  const uint64_t count = counts[static_cast<size_t>(list.field)];
  if (count <= limit) return Ok{};
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("{}: {} entries, at most {} are allowed", list.name, count, limit)};
}

Status CheckProgram(const Counts& counts, int program, const ServiceLimits& limits) {
  uint64_t others = 0;
  for (size_t number = 0; number < kNumbers; ++number) others += counts[number];
  auto check = [&](const CountedList& list, size_t limit) -> Status {
    if (list.program != program) return Ok{};
    others -= counts[static_cast<size_t>(list.field)];
    return CheckList(counts, list, limit);
  };
  if (auto status = check(kHeaders, limits.headers); !status) return status;
  for (const CountedList& list : kLists) {
    if (auto status = check(list, limits.options); !status) return status;
  }
  return others <= kOtherFields ? Status(Ok{}) : Status(NotARequest());
}

bool IsProgram(int number) {
  return number == v1::BuildRequest::kNvrtcFieldNumber ||
         number == v1::BuildRequest::kLinkFieldNumber ||
         number == v1::BuildRequest::kNvvmFieldNumber;
}

}  // namespace

Error NotARequest() {
  return Error{
      ErrorCode::kInvalidRequest,
      "the message is not a cccl_cache.v1.BuildRequest: it is damaged, compressed, or a name or "
      "option in it is not UTF-8"};
}

Status CheckFieldCounts(google::protobuf::io::ZeroCopyInputStream& stream,
                        const ServiceLimits& limits) {
  google::protobuf::io::CodedInputStream input(&stream);
  std::array<Counts, 4> programs{};
  uint64_t fields = 0;
  while (const uint32_t tag = input.ReadTag()) {
    if (++fields > kOtherFields) return NotARequest();
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto type = WireFormatLite::GetTagWireType(tag);
    if (!IsProgram(number) || type != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) return NotARequest();
      continue;
    }
    int length = 0;
    if (!input.ReadVarintSizeAsInt(&length)) return NotARequest();
    const auto outer = input.PushLimit(length);
    if (!CountFields(input, programs[static_cast<size_t>(number)])) return NotARequest();
    if (input.BytesUntilLimit() != 0) return NotARequest();
    input.PopLimit(outer);
  }
  if (!input.ConsumedEntireMessage()) return NotARequest();
  for (int program = 1; program < static_cast<int>(programs.size()); ++program) {
    auto status = CheckProgram(programs[static_cast<size_t>(program)], program, limits);
    if (!status) return status;
  }
  return Ok{};
}

}  // namespace cccl_cached
