// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// Deposits as a broken disk may return them. The input is a body. Valid magic, version, key and
// checksum are added, so that the fuzzer gets past these checks.
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/lease/deposit.h"
#include "tests/fuzz/seeds.h"

namespace {

using cccl_cache::daemon::DecodeDepositContents;
using cccl_cache::daemon::DecodeDepositRecord;
using cccl_cache::daemon::DepositRecord;
using cccl_cache::daemon::EncodeDepositContents;
using cccl_cache::daemon::EncodeDepositRecord;

constexpr size_t kMagic = 8;
constexpr std::string_view kVersion2("\2\0\0\0", 4);  // of contents, and of records without a time
constexpr std::string_view kVersion3("\3\0\0\0", 4);  // of records

const cccl_cache::Digest& Key() {
  static const cccl_cache::Digest key = cccl_cache::Sha256("key");
  return key;
}

std::string Body(const std::string& encoded) {
  const size_t around = kMagic + kVersion2.size() + sizeof(Key().bytes);
  return encoded.substr(around, encoded.size() - around - sizeof(Key().bytes));
}

std::string Sealed(std::string_view magic, std::string_view version, std::string_view body) {
  std::string bytes(magic);
  bytes.append(version).append(Key().View()).append(body);
  bytes.append(cccl_cache::Sha256(bytes).View());
  return bytes;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  DepositRecord record{.key = Key(),
                       .uid = 1000,
                       .scope = {cccl_cache::DepositScope::Kind::kGroup, 2000},
                       .name_space = "org.example",
                       .fields = cccl_cache::Sha256("fields"),
                       .size = 7,
                       .made = std::chrono::sys_seconds(std::chrono::seconds(5)),
                       .used = std::chrono::sys_seconds(std::chrono::seconds(6))};
  return {Body(EncodeDepositContents(Key(), "")), Body(EncodeDepositContents(Key(), "contents")),
          Body(EncodeDepositRecord(record))};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  static_cast<void>(DecodeDepositContents(Key(), input));
  static_cast<void>(DecodeDepositRecord(Key(), input));

  // A deposit has one encoding.
  const std::string contents = Sealed("CCCLDEP\n", kVersion2, input);
  if (const auto decoded = DecodeDepositContents(Key(), contents)) {
    assert(EncodeDepositContents(Key(), *decoded) == contents);
    assert(DecodeDepositContents(cccl_cache::Sha256("another key"), contents) == nullptr);
  }
  const std::string record = Sealed("CCCLDPR\n", kVersion3, input);
  if (const auto decoded = DecodeDepositRecord(Key(), record)) {
    assert(EncodeDepositRecord(*decoded) == record);
    assert(!DecodeDepositRecord(cccl_cache::Sha256("another key"), record));
  }
  const auto old = DecodeDepositRecord(Key(), Sealed("CCCLDPR\n", kVersion2, input));
  assert(!old || old->took.count() == 0);
  return 0;
}
