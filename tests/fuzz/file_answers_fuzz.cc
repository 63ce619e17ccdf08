// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// A client's answers to questions about files. A refused answer has a reason, and an accepted one
// keeps the limits. The result does not depend on the division of the bytes into pieces.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cccl_cache/v1/build.pb.h"
#include "daemon/service/wire/stream_messages.h"
#include "tests/fuzz/seeds.h"

namespace {

namespace v1 = cccl_cache::v1;
using cccl_cache::daemon::FileExchange;
using cccl_cache::daemon::FileName;
using cccl_cache::daemon::SentContents;

constexpr uid_t kUid = 1000;
constexpr size_t kQuestions = 8;

/// Returns the caller's files after these answers, as text.
std::string Seen(std::string_view bytes, size_t piece) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    slices.emplace_back(part.data(), part.size());
  }
  grpc::ByteBuffer buffer(slices.data(), slices.size());
  const auto sent = std::make_shared<SentContents>(std::chrono::steady_clock::now);
  std::string seen;
  // The caller is asked on this thread, answers with the bytes, and then disconnects.
  FileExchange* asked = nullptr;
  const auto exchange =
      std::make_shared<FileExchange>(FileExchange::Options{.uid = kUid}, sent, [&] {
        assert(asked->Take().size() == kQuestions);
        const cccl_cache::daemon::Status read = ReadFileAnswers(buffer, *asked);
        assert(read.ok() || !read.error().message.empty());
        assert(asked->incomplete_bytes() <= bytes.size());
        seen += read.ok() ? "taken " : "refused ";
        asked->End({});
      });
  asked = exchange.get();
  const auto files = exchange->Open({.roots = {"/p"}});
  std::vector<FileName> names;
  for (size_t i = 0; i < kQuestions; ++i) names.push_back({0, std::to_string(i)});
  std::vector<cccl_cache::daemon::ExpectedFile> expected;
  for (const FileName& name : names) expected.push_back({&name});
  files->Expect(expected);
  for (const FileName& name : names) {
    const auto looked = files->Look(name);
    if (!looked) {
      seen += "error ";
      continue;
    }
    seen += std::to_string(static_cast<int>(looked->kind)) + looked->digest.Hex() + " ";
    // A digest is accepted only if this user sent its contents.
    const bool file = looked->kind == cccl_cache::daemon::FileKind::kFile;
    assert(!file || sent->WasSent(kUid, looked->digest));
  }
  return seen;
}

}  // namespace

std::vector<std::string> cccl_cached_fuzz::Seeds() {
  v1::BuildWithFilesRequest message;
  message.add_answers()->set_kind(v1::FILE_KIND_ABSENT);
  auto& file = *message.add_answers();
  file.set_kind(v1::FILE_KIND_REGULAR);
  file.set_device(1);
  file.set_inode(2);
  file.set_size(7);
  v1::BuildWithFilesRequest digest = message;
  digest.mutable_answers(1)->set_sha256(std::string(32, 'd'));
  auto& refused = *digest.add_answers();
  refused.set_kind(v1::FILE_KIND_REFUSED);
  refused.set_reason("Permission denied");
  file.set_contents("con");
  v1::BuildWithFilesRequest more;
  more.set_more("tent");
  return {message.SerializeAsString() + more.SerializeAsString(), digest.SerializeAsString()};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  assert(Seen(bytes, std::max<size_t>(size, 1)) == Seen(bytes, 3));
  return 0;
}
