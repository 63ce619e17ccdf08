// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/client/canned_replies.h"

#include <cstdint>
#include <utility>

v1::BuildReply HitWithCubin(std::string contents) {
  v1::BuildReply reply;
  reply.set_outcome(v1::OUTCOME_HIT);
  reply.set_tier(v1::TIER_MEMORY);
  reply.set_key("00ff");
  reply.set_fingerprint("11ee");
  reply.mutable_toolchain()->set_id("22dd");
  reply.mutable_toolchain()->set_version("13.0");
  reply.mutable_timing()->set_queue_us(5);
  reply.mutable_timing()->set_compile_us(7);
  reply.set_request_id(0x6926d1f000001);
  v1::Artifact* cubin = reply.add_artifacts();
  cubin->set_kind(v1::ARTIFACT_KIND_CUBIN);
  cubin->set_size(contents.size());
  cubin->set_sha256(std::string(32, 's'));
  cubin->set_contents(std::move(contents));
  return reply;
}

std::string SomeBytes(size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}
