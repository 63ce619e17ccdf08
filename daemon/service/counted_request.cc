// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/counted_request.h"

#include <utility>

#include "daemon/service/field_count.h"

namespace cccl_cached {

Result<CountedRequest> ReadCounted(BuildBackend& backend, uid_t uid, grpc::ByteBuffer& message,
                                   ParseRequest parse) {
  const uint64_t size = message.Length();
  auto received = backend.budget.Take(uid, Resource::kBytes, size);
  if (!received) return received.error();
  if (size > backend.limits.message_bytes) return NotARequest();
  auto parsed = parse(message, backend.limits);
  if (!parsed) return parsed.error();
  message.Clear();
  auto converted = FromProto(*std::move(parsed), backend.limits,
                             [&](const auto& digest) { return backend.uploads.Find(uid, digest); });
  if (!converted) return converted.error();
  received->Release();
  auto held = backend.budget.Take(uid, Resource::kBytes, converted->bytes);
  if (!held) return held.error();
  return CountedRequest{*std::move(converted), *std::move(held)};
}

}  // namespace cccl_cached
