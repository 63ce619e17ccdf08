// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/call.h"

#include <array>
#include <charconv>
#include <utility>

namespace cccl_cache {
namespace {

// The names of errors that the daemon sends in the trailer `cccl-error`.
constexpr std::array<std::pair<std::string_view, cccl_cache_status>, 13> kNames = {{
    {"invalid-request", CCCL_CACHE_INVALID_REQUEST},
    {"toolchain-not-found", CCCL_CACHE_TOOLCHAIN_NOT_FOUND},
    {"files-needed", CCCL_CACHE_FILES_NEEDED},
    {"overloaded", CCCL_CACHE_OVERLOADED},
    {"worker-crashed", CCCL_CACHE_WORKER_CRASHED},
    {"timed-out", CCCL_CACHE_TIMED_OUT},
    {"out-of-memory", CCCL_CACHE_OUT_OF_MEMORY},
    {"denied", CCCL_CACHE_DENIED},
    {"cancelled", CCCL_CACHE_CANCELLED},
    {"unavailable", CCCL_CACHE_UNAVAILABLE},
    {"upload-needed", CCCL_CACHE_UPLOAD_NEEDED},
    {"lease-lost", CCCL_CACHE_LEASE_LOST},
    {"not-cached", CCCL_CACHE_NOT_CACHED},
}};

constexpr int kResourceExhausted = 8;

template <typename T>
T ParseNumber(std::string_view text, T otherwise) {
  T number = otherwise;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end ? number : otherwise;
}

// Returns the status for an error that has only a gRPC code, because it is not an error of the
// daemon itself.
cccl_cache_status FromGrpcCode(int code) {
  switch (code) {
    case 1:
      return CCCL_CACHE_CANCELLED;
    case 3:
    case 9:
    case 11:
      return CCCL_CACHE_INVALID_REQUEST;
    case 4:
      return CCCL_CACHE_DEADLINE;
    case 7:
    case 16:
      return CCCL_CACHE_DENIED;
    case kResourceExhausted:
      return CCCL_CACHE_OVERLOADED;
    case 14:
      return CCCL_CACHE_UNAVAILABLE;
    default:
      return CCCL_CACHE_PROTOCOL;
  }
}

// Milliseconds after which a call to a stopped daemon may be retried. A restart takes a short time.
constexpr uint32_t kRetryStopped = 250;

// Maximum size of a reply message in bytes. The daemon's default limit is 16 MiB, but it may be
// configured higher. A larger message violates the protocol.
constexpr size_t kMaxReply = size_t{256} << 20;

}  // namespace

void GrpcStatus::AddField(std::string_view name, std::string_view value) {
  if (name == "grpc-status") {
    code_ = ParseNumber(value, 2);
  } else if (name == "grpc-message") {
    message_ = PercentDecode(value);
  } else if (name == "cccl-error") {
    error_name_ = value;
  } else if (name == "cccl-retry-ms") {
    retry_after_ms_ = ParseNumber<uint32_t>(value, 0);
  } else if (name == ":status") {
    http_status_ = ParseNumber(value, 0);
  }
}

Error GrpcStatus::ToError() const {
  if (code_ == kMissing) {
    return {CCCL_CACHE_PROTOCOL, "what listens on the socket does not speak gRPC (HTTP status " +
                                     std::to_string(http_status_) + "): is it cccl-cached?"};
  }
  const cccl_cache_status status = Classify();
  // The gRPC server library ends calls with this status when the daemon stops.
  if (status == CCCL_CACHE_UNAVAILABLE && error_name_.empty()) {
    return {status, "the daemon stopped before it answered", kRetryStopped};
  }
  std::string message = message_.empty() ? "the daemon refused without a reason" : message_;
  if (code_ == 12) message += "; this daemon does not know the call: it is older than this client";
  if (status == CCCL_CACHE_TOO_LARGE) message += "; the daemon's message_limit can be raised";
  if (status == CCCL_CACHE_PROTOCOL) message += " (gRPC status " + std::to_string(code_) + ")";
  return {status, std::move(message), retry_after_ms_};
}

cccl_cache_status GrpcStatus::Classify() const {
  if (const auto named = StatusOfName(error_name_)) return *named;
  // The gRPC library ends a call with this code if a message is larger than the limit.
  if (error_name_.empty() && code_ == kResourceExhausted) return CCCL_CACHE_TOO_LARGE;
  return FromGrpcCode(code_);
}

std::optional<cccl_cache_status> StatusOfName(std::string_view name) {
  for (const auto& [known, status] : kNames) {
    if (known == name) return status;
  }
  return std::nullopt;
}

std::string PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      decoded.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      decoded.push_back(text[i]);
    }
  }
  return decoded;
}

Call::Call(std::string_view path, const ByteChain& body, MessageSink* sink, Deadline deadline,
           MessageSource* source)
    : path_(path),
      body_(&body),
      sink_(sink),
      source_(source),
      deadline_(deadline),
      unsent_(body.size()),
      assembler_(kMaxReply) {}

bool Call::TakeMore() {
  if (!goes_on() || unsent_ > 0 || ended_) return false;
  const ByteChain* more = source_->Next();
  if (more == nullptr) return said_all_ = source_->done();
  body_ = more;
  sent_ = {};
  unsent_ = more->size();
  return true;
}

void Call::MoveBody(size_t bytes, ByteChain* output) {
  output->ReferTo(*body_, sent_, bytes);
  sent_ = body_->Advance(sent_, bytes);
  unsent_ -= bytes;
}

void Call::AddData(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    switch (assembler_.Append(&bytes)) {
      case MessageAssembler::State::kIncomplete:
        break;
      case MessageAssembler::State::kComplete:
        if (!sink_->Take(assembler_.Take())) End(CallEnd::kMalformed);
        break;
      case MessageAssembler::State::kInvalid:
        End(CallEnd::kMalformed);
        break;
    }
  }
}

void Call::End(CallEnd end) {
  if (ended_) return;
  ended_ = true;
  // If the last message is incomplete, the reply is malformed, even if the status is OK.
  end_ =
      end == CallEnd::kAnswered && status_.ok() && !assembler_.empty() ? CallEnd::kMalformed : end;
}

}  // namespace cccl_cache
