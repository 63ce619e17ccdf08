// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Messages of a daemon, or of an impostor, in an Acquire call. The input is a sequence of messages,
// each preceded by its length in one byte.
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/leases/lease.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::DepositConversation;
using cccl_cache::Message;

Message Copy(std::string_view bytes) {
  Message message = Message::WithRoomFor(bytes.size());
  bytes.copy(message.bytes.get(), bytes.size());
  return message;
}

std::string Framed(const std::vector<std::string>& messages) {
  std::string all;
  for (const std::string& message : messages) {
    all.push_back(static_cast<char>(message.size()));
    all += message;
  }
  return all;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  const std::string found(
      "\x0a\x06\x08\x03\x12\x02"
      "ab",
      8);
  const std::string contents(
      "\x12\x03"
      "xyz",
      5);
  const std::string lease(
      "\x1a\x07\x08\x07\x10\x64\x1a\x01"
      "k",
      9);
  const std::string published("\x22\x00", 2);
  const std::string released(
      "\x2a\x03\x0a\x01"
      "k",
      5);
  return {Framed({found, contents}), Framed({lease, published}), Framed({released})};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  DepositConversation talk;
  bool sound = true;
  while (sound && !input.empty()) {
    const size_t length = std::min<size_t>(static_cast<uint8_t>(input[0]), input.size() - 1);
    const std::string_view message = input.substr(1, length);
    input.remove_prefix(1 + length);
    sound = talk.Take(Copy(message));
    if (!sound) break;
    assert(talk.contents().size() <= size);
    assert(talk.granted() + talk.found() + talk.released() <= 1);
    assert(!talk.published() || talk.granted());
  }
  if (sound && talk.granted()) {
    assert(talk.heartbeat().count() > 0);
    talk.SayHeartbeat();
    talk.SayPublication("contents");
    // The three messages are contents, publication and heartbeat.
    for (int i = 0; i < 3; ++i) assert(talk.Next() != nullptr);
    assert(talk.Next() == nullptr);
  }
  return 0;
}
