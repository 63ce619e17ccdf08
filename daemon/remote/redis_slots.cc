// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis_slots.h"

#include <charconv>

#include "daemon/remote/redis_address.h"

namespace cccl_cache::daemon {
namespace {

constexpr uint16_t kPolynomial = 0x1021;

template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::string_view TakeWord(std::string_view* text) {
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(std::min(word.size() + 1, text->size()));
  return word;
}

std::optional<RedisNodeName> NodeNamed(std::string_view host, int64_t port) {
  if (port <= 0 || port > UINT16_MAX || (!host.empty() && !IsRedisHost(host))) return std::nullopt;
  return RedisNodeName{std::string(host), static_cast<uint16_t>(port)};
}

}  // namespace

uint16_t RedisSlotOf(std::string_view key) {
  if (const size_t open = key.find('{'); open != std::string_view::npos) {
    const size_t close = key.find('}', open);
    if (close != std::string_view::npos && close > open + 1)
      key = key.substr(open + 1, close - open - 1);
  }
  uint16_t crc = 0;
  for (const char byte : key) {
    crc ^= static_cast<uint16_t>(static_cast<uint8_t>(byte) << 8);
    for (int bit = 0; bit < 8; ++bit)
      crc = static_cast<uint16_t>((crc << 1) ^ ((crc & 0x8000) != 0 ? kPolynomial : 0));
  }
  return crc % kRedisSlots;
}

std::optional<RedisRedirect> ParseRedisRedirect(std::string_view error) {
  const std::string_view kind = TakeWord(&error);
  if (kind != "MOVED" && kind != "ASK") return std::nullopt;
  const auto slot = NumberIn<uint16_t>(TakeWord(&error));
  const size_t colon = error.rfind(':');  // an IPv6 address stands there as it is
  if (!slot || *slot >= kRedisSlots || colon == std::string_view::npos) return std::nullopt;
  const auto port = NumberIn<uint16_t>(error.substr(colon + 1));
  const auto node = NodeNamed(error.substr(0, colon), port.value_or(0));
  return node ? std::optional(RedisRedirect{kind == "ASK", *slot, *node}) : std::nullopt;
}

std::vector<RedisSlotRange> ParseRedisSlots(const RedisReply& reply) {
  using Kind = RedisReply::Kind;
  std::vector<RedisSlotRange> ranges;
  for (const RedisReply& each : reply.items) {
    // First slot, last slot, the master, then its replicas. A node is its host, port and more.
    if (each.items.size() < 3 || each.items[2].items.size() < 2) continue;
    const RedisReply& first = each.items[0];
    const RedisReply& last = each.items[1];
    const RedisReply& host = each.items[2].items[0];
    const RedisReply& port = each.items[2].items[1];
    const bool numbers = first.kind == Kind::kInteger && last.kind == Kind::kInteger &&
                         port.kind == Kind::kInteger &&
                         (host.kind == Kind::kText || host.kind == Kind::kNil);
    if (!numbers || first.integer < 0 || last.integer < first.integer ||
        last.integer >= kRedisSlots) {
      continue;
    }
    if (const auto node = NodeNamed(host.text, port.integer)) {
      ranges.push_back(
          {static_cast<uint16_t>(first.integer), static_cast<uint16_t>(last.integer), *node});
    }
  }
  return ranges;
}

}  // namespace cccl_cache::daemon
