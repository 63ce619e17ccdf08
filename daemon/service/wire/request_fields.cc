// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/wire/request_fields.h"

#include <fmt/format.h>

#include <utility>

namespace cccl_cache::daemon {

void RequestFields::Refuse(std::string message) {
  if (!error_) error_ = Error{ErrorCode::kInvalidRequest, std::move(message)};
}

void RequestFields::CheckCount(std::string_view field, size_t count, size_t limit) {
  if (count <= limit) return;
  Refuse(
      fmt::format("{}: {} entries, at most {} are allowed: send fewer, or put headers "
                  "into a directory and name it with -I",
                  field, count, limit));
}

std::string RequestFields::Name(std::string_view field, std::string&& text) {
  return Text(field, std::move(text), limits_.name_bytes);
}

std::string RequestFields::Option(std::string_view field, std::string&& text) {
  return Text(field, std::move(text), limits_.option_bytes);
}

std::string RequestFields::Contents(std::string_view field, Blob&& blob) {
  if (error_) return {};
  if (blob.upload_sha256.empty()) {
    Count(field, blob.inline_bytes.size());
    return std::move(blob.inline_bytes);
  }
  if (!blob.inline_bytes.empty()) {
    Refuse(fmt::format("{}: both inline_bytes and upload_sha256 are set, use one", field));
    return {};
  }
  return Uploaded(field, blob.upload_sha256);
}

std::string RequestFields::SourceText(std::string_view field, Blob&& blob) {
  std::string text = Contents(field, std::move(blob));
  if (text.find('\0') != std::string::npos) {
    Refuse(fmt::format("{}: holds a zero byte, at which the compiler would stop reading", field));
  }
  return text;
}

std::string RequestFields::Text(std::string_view field, std::string&& text, uint64_t limit) {
  if (error_) return {};
  if (text.size() > limit) {
    Refuse(fmt::format("{}: {} bytes long, at most {} are allowed", field, text.size(), limit));
  } else if (text.find('\0') != std::string::npos) {
    Refuse(fmt::format("{}: holds a zero byte", field));
  }
  bytes_ += text.size();
  return std::move(text);
}

void RequestFields::Count(std::string_view field, uint64_t size) {
  bytes_ += size;
  if (bytes_ <= limits_.source_bytes) return;
  Refuse(
      fmt::format("{}: source, headers and inputs together are larger than {} bytes, which is "
                  "the most that one request may hold",
                  field, limits_.source_bytes));
}

std::string RequestFields::Uploaded(std::string_view field, const std::string& raw) {
  const auto digest = cccl_cache::Digest::FromBytes(raw);
  if (!digest) {
    Refuse(fmt::format("{}.upload_sha256: {} bytes long, a SHA-256 has 32", field, raw.size()));
    return {};
  }
  const auto blob = find_upload_(*digest);
  if (blob == nullptr) {
    error_ = Error{ErrorCode::kUploadNeeded,
                   fmt::format("{}: this user has no upload {}, or it was forgotten: upload it "
                               "again",
                               field, digest->Hex())};
    return {};
  }
  Count(field, blob->size());
  return error_ ? std::string() : *blob;
}

}  // namespace cccl_cache::daemon
