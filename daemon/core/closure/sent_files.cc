// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/closure/sent_files.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "daemon/core/model/account.h"

namespace cccl_cache::daemon {
namespace {

// Limits for all users together. One account may use an eighth of each: enough for the files of a
// CCCL tree that one build reads, and for the digests of several trees.
constexpr size_t kContentsBytes = 256u << 20;
constexpr size_t kDigestBytes = 64u << 20;
constexpr std::chrono::minutes kContentsLifetime{10};
constexpr std::chrono::hours kDigestLifetime{24};

Digest UsersKey(uid_t uid, const Digest& digest) {
  Hasher hasher;
  hasher.AppendValue("uid", uid);
  hasher.AppendValue("sent", digest.View());
  return hasher.Finish();
}

Error Gone(const std::string& path) {
  return Error{
      ErrorCode::kFilesNeeded,
      fmt::format("what {} was is not known any more, and who sent it is not asked again", path)};
}

}  // namespace

SentContents::SentContents(Now now)
    : contents_(kContentsLifetime, kContentsBytes, now),
      sent_(kDigestLifetime, kDigestBytes, now) {}

void SentContents::Keep(uid_t uid, Account account, const Digest& digest,
                        std::shared_ptr<const std::string> bytes) {
  if (uid == kOverflowUid) return;
  const Digest key = UsersKey(uid, digest);
  sent_.Remember(key, account, true, 0);
  // SentAny() looks for this entry, which stands for all contents of the user.
  if (const Digest any = UsersKey(uid, {}); !sent_.Find(any)) sent_.Remember(any, account, true, 0);
  const size_t size = bytes->size();
  contents_.Remember(key, account, std::move(bytes), size);
}

bool SentContents::WasSent(uid_t uid, const Digest& digest) {
  return sent_.Find(UsersKey(uid, digest)).value_or(false);
}

std::shared_ptr<const std::string> SentContents::Find(uid_t uid, const Digest& digest) {
  return contents_.Find(UsersKey(uid, digest)).value_or(nullptr);
}

RecalledFiles::RecalledFiles(AnsweredFilesPtr answered, RootDirectories directories,
                             Sources sources)
    : answered_(std::move(answered)),
      directories_(std::move(directories)),
      sources_(std::move(sources)) {
  for (const ClosureEntry& entry : answered_->closure.entries) {
    if (entry.name.root == kToolchainRoot) continue;
    by_path_.try_emplace(answered_->directories.PathOf(entry.name), &entry);
  }
}

Result<SeenFile> RecalledFiles::Look(const FileName& name) {
  const std::string path = directories_.PathOf(name);
  if (path.empty()) return SeenFile{};
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return Gone(path);
  const ClosureEntry& entry = *found->second;
  if (entry.kind == FileKind::kAbsent) return SeenFile{};
  return SeenFile{entry.kind, entry.digest, {0, entry.same_as}};
}

Result<RequesterFiles::Contents> RecalledFiles::Read(const FileName& name) {
  const Result<SeenFile> seen = Look(name);
  if (!seen) return seen.error();
  Contents contents{*seen, nullptr};
  if (seen->kind != FileKind::kFile) return contents;
  contents.bytes = ContentsOf(name, seen->digest);
  if (contents.bytes == nullptr) return Gone(directories_.PathOf(name));
  return contents;
}

std::shared_ptr<const std::string> RecalledFiles::ContentsOf(const FileName& name,
                                                             const Digest& digest) {
  if (auto bytes = sources_.sent->Find(sources_.uid, digest)) return bytes;
  const Result<Contents> opened = sources_.daemons->Read(name);
  if (!opened || opened->seen.kind != FileKind::kFile || opened->seen.digest != digest) {
    return nullptr;
  }
  return opened->bytes;
}

}  // namespace cccl_cache::daemon
