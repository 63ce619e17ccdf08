// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/request.h"

#include "proto/request_fields.h"

namespace cccl_cache {
namespace {

/// Adds up the bytes of texts and contents.
class ByteCount {
 public:
  void Name(uint32_t, std::string_view, const std::string& text) { bytes_ += text.size(); }
  void Option(uint32_t, std::string_view, const std::string& text) { bytes_ += text.size(); }
  void SourceText(uint32_t, std::string_view, const std::string& text) { bytes_ += text.size(); }
  void Contents(uint32_t, std::string_view, const std::string& bytes) { bytes_ += bytes.size(); }
  void Options(uint32_t, std::string_view, const std::vector<std::string>& list) {
    for (const std::string& text : list) bytes_ += sizeof(text) + text.size();
  }
  template <typename Item, typename Fields>
  void Items(uint32_t, std::string_view, const std::vector<Item>& items, const Fields& fields) {
    for (const Item& item : items) fields(*this, item);
  }
  void Flag(uint32_t, bool) {}
  void Enum(uint32_t, std::string_view, LinkInputType) {}

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

void Walk(ByteCount& count, const NvrtcProgram& program) { WalkNvrtc(count, program, program); }
void Walk(ByteCount& count, const LinkProgram& program) { WalkLink(count, program, program); }
void Walk(ByteCount& count, const NvvmProgram& program) { WalkNvvm(count, program, program); }

}  // namespace

size_t BytesOf(const BuildRequest& request) {
  ByteCount count;
  std::visit([&](const auto& program) { Walk(count, program); }, request.program);
  size_t bytes = count.bytes() + request.working_directory.size();
  const auto* nvrtc = std::get_if<NvrtcProgram>(&request.program);
  if (nvrtc != nullptr && nvrtc->header_set != nullptr && nvrtc->header_set->has_contents()) {
    bytes += nvrtc->header_set->bytes->size();
  }
  return bytes;
}

}  // namespace cccl_cache
