// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/leases/reservation.h"

#include <chrono>
#include <utility>

#include "base/wire.h"
#include "proto/field_numbers.h"

namespace cccl_cache {
namespace {

/// Limit for a report, which the daemon answers immediately.
constexpr std::chrono::seconds kReport{1};
/// How often the thread of a reservation, which has nothing to send, looks at its end.
constexpr std::chrono::minutes kInterval{1};

std::string Encode(const MemoryKind& kind) {
  using Field = fields::MemoryKind;
  return ProtoWriter().Bytes(Field::kTool, kind.tool).Bytes(Field::kKind, kind.kind).Take();
}

}  // namespace

std::unique_ptr<Reservation> Reservation::Await(const std::string& socket, MemoryKind kind,
                                                std::chrono::milliseconds most) {
  std::unique_ptr<Reservation> made(new Reservation(std::move(kind), socket));
  ByteChain body;
  AppendMessage(ProtoWriter().Message(fields::ReserveRequest::kKind, Encode(made->kind_)).bytes(),
                &body);
  auto open = made->channel_.Open("/cccl_cache.v1.Deposit/Reserve", body, &made->reply_, nullptr,
                                  Deadline::After(most), [&] { return made->reply_.received(); });
  if (!open.ok() || open->call == nullptr) return nullptr;
  made->call_.emplace(*std::move(open), kInterval, [] { return kInterval; });
  return made;
}

void Reservation::Report(uint64_t peak_bytes) {
  using Field = fields::ReportPeakRequest;
  ByteChain body;
  AppendMessage(ProtoWriter()
                    .Message(Field::kKind, Encode(kind_))
                    .Number(Field::kPeakBytes, peak_bytes)
                    .bytes(),
                &body);
  SingleMessage reply;
  // If the report is lost, the estimate stays as it is.
  [[maybe_unused]] const auto reported =
      channel_.Invoke("/cccl_cache.v1.Deposit/ReportPeak", body, &reply, Deadline::After(kReport));
}

}  // namespace cccl_cache
