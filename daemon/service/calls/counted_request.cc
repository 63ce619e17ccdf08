// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/calls/counted_request.h"

#include <utility>

#include "daemon/service/wire/messages.h"

namespace cccl_cache::daemon {
namespace {

Result<ConvertedRequest> Read(BuildBackend& backend, const Peer& peer,
                              const grpc::ByteBuffer& message, BuildReader read) {
  const BufferPieces pieces(message);
  WireInput input(pieces.views());
  return read(input, backend.limits,
              [&](const auto& digest) { return backend.uploads.Find(peer.uid, digest); });
}

}  // namespace

Result<CountedRequest> ReadCounted(BuildBackend& backend, const Peer& peer,
                                   grpc::ByteBuffer& message, BuildReader read) {
  const uint64_t size = message.Length();
  auto received = backend.budget.Take(peer.account(), Resource::kBytes, size);
  if (!received) return received.error();
  if (size > backend.limits.message_bytes) return NotARequest();
  auto converted = Read(backend, peer, message, read);
  message.Clear();
  if (!converted) return converted.error();
  received->Release();
  auto held = backend.budget.Take(peer.account(), Resource::kBytes, converted->bytes);
  if (!held) return held.error();
  return CountedRequest{*std::move(converted), *std::move(held)};
}

}  // namespace cccl_cache::daemon
