// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/shelf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "base/files/file_descriptor.h"
#include "base/files/file_stamp.h"
#include "daemon/core/lookup/manifest.h"
#include "daemon/core/model/result.h"
#include "daemon/snapshot/records.h"
#include "proto/compression.h"
#include "proto/snapshot/snapshot_reader.h"
#include "proto/snapshot/snapshot_signature.h"

namespace cccl_cache::daemon {
namespace {

// Limits of one directory: each snapshot is an open file, each entry takes some 120 bytes of
// memory. Unusable files do not count towards the limit of snapshots.
constexpr size_t kMaxNames = 4'096;
constexpr size_t kMaxSnapshots = 256;
constexpr uint64_t kMaxEntries = 1 << 18;
// Bytes of the head and the signature in a signature file. The file also has a digest for each
// entry.
constexpr uint64_t kSignedBytes = kSignatureHeadBytes + sizeof(Signature::bytes);

/// Makes an error that may be gone at the next attempt, for example one of the file system.
Error Unusable(std::string why) { return {ErrorCode::kUnavailable, std::move(why)}; }
/// Makes an error that stays until the file changes.
Error Refused(std::string why) { return {ErrorCode::kInvalidRequest, std::move(why)}; }

struct OpenFile {
  FileDescriptor descriptor;
  /// The stamp changes with the file, if the file system keeps times.
  ContentStamp stamp;
  uint64_t bytes = 0;
};

// Opens a regular file for reading. Other files are refused, because opening a device may have
// effects. The second open uses the descriptor's link in /proc, because the path may lead to
// another file by then.
Result<OpenFile> OpenRegular(const std::string& path) {
  const FileDescriptor named(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statx status = {};
  if (!named.valid() || StatusAt(named.get(), "", &status) != 0) {
    return Unusable(std::strerror(errno));
  }
  if (!S_ISREG(status.stx_mode)) return Unusable("it is no regular file");
  const std::string link = fmt::format("/proc/self/fd/{}", named.get());
  OpenFile file{FileDescriptor(open(link.c_str(), O_RDONLY | O_CLOEXEC)), {}, 0};
  if (!file.descriptor.valid() && errno == ENOENT) return Unusable("/proc is not mounted here");
  // A network file system returns fresh attributes only after a file was opened for reading.
  if (!file.descriptor.valid() || StatusAt(file.descriptor.get(), "", &status) != 0) {
    return Unusable(std::strerror(errno));
  }
  file.stamp = ContentStamp::Of(status);
  file.bytes = status.stx_size;
  return file;
}

/// Returns the stamp of the file at the path, or the errno.
std::variant<ContentStamp, int> StampAt(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct statx status = {};
  if (!file.valid() || StatusAt(file.get(), "", &status) != 0) return errno;
  return ContentStamp::Of(status);
}

/// Returns whether the path still leads to the file with this stamp. Also true if the file system
/// can't answer.
bool IsStillAt(const std::string& path, const ContentStamp& stamp) {
  const auto found = StampAt(path);
  if (const int* error = std::get_if<int>(&found)) return *error != ENOENT && *error != ENOTDIR;
  return std::get<ContentStamp>(found) == stamp;
}

std::string SignatureOf(const std::string& path) { return path + std::string(kSignatureSuffix); }

/// Returns the current stamps of the snapshot and of its signature. A missing file has none.
std::vector<ContentStamp> StampsAt(const std::string& path) {
  std::vector<ContentStamp> both;
  for (const std::string& file : {path, SignatureOf(path)}) {
    const auto found = StampAt(file);
    if (const auto* stamp = std::get_if<ContentStamp>(&found)) both.push_back(*stamp);
  }
  return both;
}

}  // namespace

/// An open snapshot with its signature.
class SignedSnapshot {
 public:
  /// Opens a snapshot. The error says why the snapshot can't be used.
  static Result<std::shared_ptr<const SignedSnapshot>> Open(const std::string& path,
                                                            const Shelf::Rules& rules);

  /// Returns whether the snapshot and the signature at this path are still the opened files.
  [[nodiscard]] bool IsStill(const std::string& path) const {
    return path == path_ && IsStillAt(path, stamp_) &&
           IsStillAt(SignatureOf(path), signature_stamp_);
  }
  [[nodiscard]] const PublicKey& signer() const { return signer_; }
  [[nodiscard]] uint64_t entries() const { return rows_.size(); }
  [[nodiscard]] bool Holds(const EntryName& name) const {
    return name.kind == EntryKind::kManifest ? !ManifestRows(name.key).empty()
                                             : FindRow(name.key) != nullptr;
  }
  /// Returns an empty entry if the snapshot has no such record, or if the bytes of the record do
  /// not have the signed digest.
  [[nodiscard]] SharedEntry Read(const EntryName& name) const {
    return name.kind == EntryKind::kManifest ? ReadManifest(name.key) : ReadArtifact(name.key);
  }

 private:
  struct Row {
    Digest key;
    Digest sha256;
    uint64_t offset = 0;
    uint32_t stored_bytes = 0;
    uint32_t bytes = 0;
  };
  /// The row of an artifact that depends on files, and the key of the manifest by which a build
  /// finds this artifact.
  struct ManifestRow {
    Digest manifest;
    uint32_t row = 0;
  };

  SignedSnapshot(std::string path, OpenFile file, SnapshotFile bytes)
      : path_(std::move(path)), file_(std::move(file)), bytes_(bytes), stamp_(file_.stamp) {}

  Status Index(const SnapshotSignature& signature, uint64_t entry_limit);
  void AddRow(const SnapshotItem& item, uint64_t offset, const Digest& fingerprint);
  [[nodiscard]] const Row* FindRow(const Digest& key) const;
  [[nodiscard]] std::span<const ManifestRow> ManifestRows(const Digest& manifest) const;
  [[nodiscard]] SharedEntry ReadArtifact(const Digest& key) const;
  [[nodiscard]] SharedEntry ReadManifest(const Digest& manifest) const;
  [[nodiscard]] std::optional<ArtifactRecord> ReadRecord(const Row& row) const;

  const std::string path_;
  const OpenFile file_;
  const SnapshotFile bytes_;
  const ContentStamp stamp_;
  ContentStamp signature_stamp_ = {};
  std::optional<SnapshotReader> reader_;
  PublicKey signer_;
  std::vector<Row> rows_;               ///< sorted by key
  std::vector<ManifestRow> manifests_;  ///< sorted by manifest
};

namespace {

Result<SnapshotSignature> ReadSignature(const OpenFile& file, const TrustList& trusted) {
  constexpr uint64_t kMostBytes = kSignedBytes + kMaxEntries * sizeof(Digest);
  if (file.bytes > kMostBytes) {
    return Refused(fmt::format("a shelf holds {} entries at most", kMaxEntries));
  }
  const auto opened = SnapshotFile::Open(file.descriptor.get());
  if (const auto* why = std::get_if<std::string>(&opened)) return Unusable(*why);
  std::string bytes(file.bytes, '\0');
  if (std::string why = std::get<SnapshotFile>(opened).Read(0, bytes); !why.empty()) {
    return Unusable(std::move(why));
  }
  auto signature = DecodeSnapshotSignature(
      bytes, [&trusted](const PublicKey& key) { return trusted.Holds(key); });
  if (auto* why = std::get_if<std::string>(&signature)) return Refused(std::move(*why));
  return std::get<SnapshotSignature>(std::move(signature));
}

}  // namespace

Result<std::shared_ptr<const SignedSnapshot>> SignedSnapshot::Open(const std::string& path,
                                                                   const Shelf::Rules& rules) {
  const std::string signature_path = SignatureOf(path);
  const auto named = [](const std::string& file, const Error& error) {
    return Error{error.code, file + ": " + error.message};
  };
  const Result<OpenFile> signature_file = OpenRegular(signature_path);
  if (!signature_file) return named(signature_path, signature_file.error());
  const Result<SnapshotSignature> signature = ReadSignature(*signature_file, *rules.trusted);
  if (!signature) return named(signature_path, signature.error());
  Result<OpenFile> file = OpenRegular(path);
  if (!file) return named(path, file.error());
  const auto bytes = SnapshotFile::Open(file->descriptor.get());
  if (const auto* why = std::get_if<std::string>(&bytes)) return named(path, Unusable(*why));
  std::shared_ptr<SignedSnapshot> snapshot(
      new SignedSnapshot(path, *std::move(file), std::get<SnapshotFile>(bytes)));
  snapshot->signature_stamp_ = signature_file->stamp;
  if (const Status indexed = snapshot->Index(*signature, rules.entry_limit); !indexed) {
    return named(path, indexed.error());
  }
  return std::shared_ptr<const SignedSnapshot>(std::move(snapshot));
}

Status SignedSnapshot::Index(const SnapshotSignature& signature, uint64_t entry_limit) {
  signer_ = signature.signer;
  auto opened = SnapshotReader::Open(bytes_);
  if (auto* why = std::get_if<std::string>(&opened)) return Unusable(std::move(*why));
  reader_ = std::get<SnapshotReader>(std::move(opened));
  if (reader_->index_sha256() != signature.index_sha256 ||
      reader_->file_bytes() != signature.file_bytes ||
      reader_->count() != signature.fingerprints.size()) {
    return Refused("it is not the snapshot that was signed: sign it again");
  }
  rows_.reserve(reader_->count());
  const uint64_t largest = std::min(entry_limit, kMaxRecordBytes);
  size_t place = 0;
  const std::string why = reader_->ForEach([&](const SnapshotItem& item, uint64_t offset) {
    const Digest& fingerprint = signature.fingerprints[place++];
    const bool fits = item.stored_bytes <= largest && item.bytes <= largest;
    // Deposits are left out, because a deposit belongs to the user who inserts the snapshot.
    if (fits && item.kind == SnapshotKind::kArtifact) AddRow(item, offset, fingerprint);
    return true;
  });
  if (!why.empty()) return Unusable(why);
  std::ranges::stable_sort(manifests_, {}, &ManifestRow::manifest);
  return Ok{};
}

void SignedSnapshot::AddRow(const SnapshotItem& item, uint64_t offset, const Digest& fingerprint) {
  const auto row = static_cast<uint32_t>(rows_.size());
  rows_.push_back({item.key, item.sha256, offset, static_cast<uint32_t>(item.stored_bytes),
                   static_cast<uint32_t>(item.bytes)});
  if (KeyOf(fingerprint, {}) != item.key) manifests_.push_back({ManifestKey(fingerprint), row});
}

const SignedSnapshot::Row* SignedSnapshot::FindRow(const Digest& key) const {
  const auto found = std::ranges::lower_bound(rows_, key, {}, &Row::key);
  return found == rows_.end() || found->key != key ? nullptr : &*found;
}

std::span<const SignedSnapshot::ManifestRow> SignedSnapshot::ManifestRows(
    const Digest& manifest) const {
  return {std::ranges::lower_bound(manifests_, manifest, {}, &ManifestRow::manifest),
          std::ranges::upper_bound(manifests_, manifest, {}, &ManifestRow::manifest)};
}

SharedEntry SignedSnapshot::ReadArtifact(const Digest& key) const {
  const Row* const row = FindRow(key);
  const auto record = row == nullptr ? std::nullopt : ReadRecord(*row);
  return {.artifact = record ? record->artifact : nullptr};
}

SharedEntry SignedSnapshot::ReadManifest(const Digest& manifest) const {
  Manifest known;
  for (const ManifestRow& each : ManifestRows(manifest)) {
    if (known.closures.size() == Manifest::kMaxClosures) break;
    auto record = ReadRecord(rows_[each.row]);
    if (record && ManifestKey(record->fingerprint) == manifest) {
      known.Add({std::move(record->closure)});
    }
  }
  if (known.closures.empty()) return {};
  return {.manifest = std::make_shared<const Manifest>(std::move(known))};
}

std::optional<ArtifactRecord> SignedSnapshot::ReadRecord(const Row& row) const {
  SnapshotItem item;
  item.stored_bytes = row.stored_bytes;
  item.sha256 = row.sha256;
  std::string stored;
  if (!reader_->Read(item, row.offset, &stored).empty()) return std::nullopt;
  const auto bytes = Decompress(stored, row.bytes);
  return bytes ? DecodeArtifactRecord(row.key, *bytes) : std::nullopt;
}

SharedEntry Merged(const SharedEntry& one, const SharedEntry& other) {
  if (one.manifest == nullptr || other.manifest == nullptr) return one ? one : other;
  auto all = std::make_shared<Manifest>(*one.manifest);
  for (const KnownClosure& closure : other.manifest->closures) all->Add(closure);
  return {.manifest = std::move(all)};
}

std::shared_ptr<const Shelf> Shelf::LookAt(const std::string& directory, const Rules& rules,
                                           const Shelf* before) {
  auto shelf = std::make_shared<Shelf>();
  std::error_code error;
  std::vector<std::string> paths;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (path.ends_with(kSignatureSuffix)) {
      paths.push_back(path.substr(0, path.size() - kSignatureSuffix.size()));
    }
    if (paths.size() > kMaxNames) break;
  }
  if (error) {
    // If the directory is missing, the earlier snapshots are dropped. After any other error of the
    // file system they are kept, because the failure may be temporary.
    const bool gone = error == std::errc::no_such_file_or_directory;
    if (before != nullptr && !gone) *shelf = *before;
    shelf->problems_ = {fmt::format("{}: {}", directory, error.message())};
    return shelf;
  }
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    if (shelf->snapshots_.size() < kMaxSnapshots) shelf->Add(path, rules, before);
  }
  if (paths.size() > kMaxNames || shelf->snapshots_.size() == kMaxSnapshots) {
    shelf->problems_.push_back(
        fmt::format("{}: at most {} snapshots of it, and {} signatures, are looked at", directory,
                    kMaxSnapshots, kMaxNames));
  }
  return shelf;
}

void Shelf::Add(const std::string& path, const Rules& rules, const Shelf* before) {
  std::shared_ptr<const SignedSnapshot> snapshot;
  if (before != nullptr) {
    const auto same = std::ranges::find_if(
        before->snapshots_, [&path](const auto& each) { return each->IsStill(path); });
    if (same != before->snapshots_.end() && rules.trusted->Holds((*same)->signer())) {
      snapshot = *same;
    }
    const auto known = std::ranges::find(before->unusable_, path, &Unusable::path);
    if (known != before->unusable_.end() && known->trusted == rules.trusted &&
        known->stamps == StampsAt(path)) {
      return AddUnusable(path, rules, known->problem);
    }
  }
  if (snapshot == nullptr) {
    auto opened = SignedSnapshot::Open(path, rules);
    if (!opened && opened.error().code == ErrorCode::kUnavailable) {
      return problems_.push_back(opened.error().message);
    }
    if (!opened) return AddUnusable(path, rules, opened.error().message);
    snapshot = *std::move(opened);
  }
  if (entries_ + snapshot->entries() > kMaxEntries) {
    return AddUnusable(
        path, rules,
        fmt::format("{}: a shelf holds {} entries at most: put fewer of them into snapshots, or "
                    "some on another shelf",
                    path, kMaxEntries));
  }
  entries_ += snapshot->entries();
  snapshots_.push_back(std::move(snapshot));
}

void Shelf::AddUnusable(const std::string& path, const Rules& rules, std::string problem) {
  problems_.push_back(problem);
  unusable_.push_back({path, rules.trusted, StampsAt(path), std::move(problem)});
}

bool Shelf::HoldsAny(const std::vector<EntryName>& names) const {
  return std::ranges::any_of(snapshots_, [&names](const auto& snapshot) {
    return std::ranges::any_of(
        names, [&snapshot](const EntryName& each) { return snapshot->Holds(each); });
  });
}

Shelf::Reading Shelf::Read(const std::vector<EntryName>& names, const TrustList& trusted) const {
  Reading reading;
  for (const EntryName& name : names) {
    SharedEntry& entry = reading.entries.emplace_back();
    for (const auto& snapshot : snapshots_) {
      if (!snapshot->Holds(name)) continue;
      const SharedEntry held =
          trusted.Holds(snapshot->signer()) ? snapshot->Read(name) : SharedEntry();
      if (!held) ++reading.refused;
      entry = Merged(entry, held);
      // One artifact is enough. But the manifests of all snapshots are merged, because only the
      // build can find the closure that matches its files.
      if (entry.artifact != nullptr) break;
    }
  }
  return reading;
}

}  // namespace cccl_cache::daemon
