// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "proto/header_set.h"

#include <algorithm>
#include <utility>

#include "proto/field_numbers.h"

namespace cccl_cache {

EncodedHeaderSet::EncodedHeaderSet(std::vector<HeaderText> headers) : headers_(std::move(headers)) {
  std::ranges::stable_sort(headers_, {}, &HeaderText::name);
}

Digest EncodedHeaderSet::Sha256() const {
  Hasher hasher;
  ForEachPiece([&](std::string_view piece, bool) { hasher.Append(piece); });
  return hasher.Finish();
}

std::string EncodedHeaderSet::HeadOf(const HeaderText& header) {
  using Field = fields::InlineHeader;
  const size_t size = header.contents.size();
  const std::string blob = ProtoWriter().Head(fields::Blob::kInlineBytes, size).Take();
  const std::string item = ProtoWriter()
                               .Bytes(Field::kName, header.name)
                               .Head(Field::kContents, blob.size() + size)
                               .Fields(blob)
                               .Take();
  return ProtoWriter().Head(fields::HeaderSet::kHeaders, item.size() + size).Fields(item).Take();
}

std::optional<std::vector<HeaderText>> ReadHeaderSet(std::string_view message, size_t most) {
  std::vector<HeaderText> headers;
  bool uploads = false;
  ProtoReader reader(message);
  while (const uint32_t number = headers.size() > most ? 0 : reader.Next()) {
    if (number != fields::HeaderSet::kHeaders) continue;
    HeaderText& header = headers.emplace_back();
    ProtoReader item = reader.Message();
    while (const uint32_t member = item.Next()) {
      if (member == fields::InlineHeader::kName) header.name = item.View();
      if (member != fields::InlineHeader::kContents) continue;
      ProtoReader blob = item.Message();
      while (const uint32_t kind = blob.Next()) {
        if (kind == fields::Blob::kInlineBytes) header.contents = blob.View();
        uploads = uploads || kind == fields::Blob::kUploadSha256;
      }
    }
  }
  if (!reader.ok() || uploads) return std::nullopt;
  return headers;
}

}  // namespace cccl_cache
