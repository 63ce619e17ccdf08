// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "base/codec.h"
#include "base/files/file_descriptor.h"
#include "base/json.h"
#include "cli/snapshot_command.h"
#include "cli/terminal/command.h"
#include "cli/terminal/files.h"
#include "cli/terminal/progress.h"
#include "proto/compression.h"
#include "proto/snapshot/snapshot_reader.h"
#include "proto/snapshot/snapshot_signature.h"

namespace cccl_cache::cli {
namespace {

struct SignOptions {
  std::string key;
  std::vector<std::string> files;
};

Error Wrong(const std::string& file, const std::string& why) {
  return {CCCL_CACHE_INVALID_REQUEST, file + ": " + why};
}

/// An open snapshot file. Must not be moved, because `reader` keeps a pointer to `bytes`.
struct SnapshotOnDisk {
  FileDescriptor file;
  std::optional<SnapshotFile> bytes;
  std::optional<SnapshotReader> reader;
};

Expected<std::unique_ptr<SnapshotOnDisk>> OpenOnDisk(const std::string& path) {
  auto snapshot = std::make_unique<SnapshotOnDisk>();
  snapshot->file = FileDescriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!snapshot->file.valid()) {
    return Error{CCCL_CACHE_UNAVAILABLE, "can't read " + path + ": " + std::strerror(errno)};
  }
  const auto bytes = SnapshotFile::Open(snapshot->file.get());
  if (const auto* why = std::get_if<std::string>(&bytes)) return Wrong(path, *why);
  snapshot->bytes = std::get<SnapshotFile>(bytes);
  const auto reader = SnapshotReader::Open(*snapshot->bytes);
  if (const auto* why = std::get_if<std::string>(&reader)) return Wrong(path, *why);
  snapshot->reader = std::get<SnapshotReader>(reader);
  return snapshot;
}

/// Returns the fingerprint of each record. An artifact's record begins with it
/// (docs/internals/snapshot-format.md). A deposit has no fingerprint, so its element is all zeros.
Expected<std::vector<Digest>> FingerprintsOf(const SnapshotReader& reader,
                                             const std::string& path) {
  std::vector<Digest> fingerprints;
  fingerprints.reserve(reader.count());
  std::string wrong;
  std::string stored;
  const std::string why = reader.ForEach([&](const SnapshotItem& item, uint64_t offset) {
    Digest fingerprint;
    if (item.kind == SnapshotKind::kArtifact) {
      wrong = reader.Read(item, offset, &stored);
      if (!wrong.empty()) return false;
      const auto front = DecompressFront(stored, fingerprint.bytes.size());
      if (!front) wrong = "record " + item.key.Hex() + " is no record of an artifact";
      if (!front) return false;
      fingerprint = *Digest::FromBytes(*front);
    }
    fingerprints.push_back(fingerprint);
    return true;
  });
  if (!why.empty() || !wrong.empty()) return Wrong(path, why.empty() ? wrong : why);
  return fingerprints;
}

Expected<std::string> SignatureOf(const std::string& path, const SigningKey& key) {
  Expected<std::unique_ptr<SnapshotOnDisk>> snapshot = OpenOnDisk(path);
  if (!snapshot.ok()) return snapshot.error();
  const SnapshotReader& reader = *(*snapshot)->reader;
  // The whole file is verified first, because the signature states that the file is complete.
  if (const std::string why = reader.Verify(); !why.empty()) return Wrong(path, why);
  Expected<std::vector<Digest>> fingerprints = FingerprintsOf(reader, path);
  if (!fingerprints.ok()) return fingerprints.error();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  return EncodeSnapshotSignature({.signer = key.public_key(),
                                  .time = now,
                                  .file_bytes = reader.file_bytes(),
                                  .index_sha256 = reader.index_sha256(),
                                  .fingerprints = *std::move(fingerprints)},
                                 key);
}

Expected<SigningKey> ReadSecretKey(const std::string& file) {
  const Expected<std::string> text = ReadFile(file);
  if (!text.ok()) return text.error();
  auto key = ParseSigningKey(*text, file);
  if (const auto* why = std::get_if<std::string>(&key)) {
    return Error{CCCL_CACHE_INVALID_REQUEST, *why};
  }
  return std::get<SigningKey>(std::move(key));
}

int Sign(const SignOptions& options, const CommonOptions& common) {
  const Expected<SigningKey> key = ReadSecretKey(options.key);
  if (!key.ok()) return Fail(key.error(), common);
  JsonWriter json = BeginAnswer();
  json.Key("signer").String(key->public_key().Hex()).Key("signatures").BeginArray();
  std::string text;
  for (const std::string& file : options.files) {
    const Expected<std::string> signature = [&] {
      const ProgressOfCall progress([&] { return "signing " + file; });
      return SignatureOf(file, *key);
    }();
    if (!signature.ok()) return Fail(signature.error(), common);
    const std::string path = file + std::string(kSignatureSuffix);
    const Expected<Done> written = WriteSharedFile(path, *signature);
    if (!written.ok()) return Fail(written.error(), common);
    json.String(path);
    text += "made " + path + ", to lie beside " + file + " on a shelf\n";
  }
  json.EndArray();
  return Print(common.json ? json.EndObject().Finish() : text);
}

}  // namespace

Expected<PublicKey> SignerOf(const std::string& file, const std::vector<std::string>& trusted) {
  std::vector<PublicKey> keys;
  for (const std::string& list : trusted) {
    const Expected<std::string> text = ReadFile(list);
    if (!text.ok()) return text.error();
    const auto listed = ParsePublicKeys(*text, list);
    if (const auto* why = std::get_if<std::string>(&listed)) {
      return Error{CCCL_CACHE_INVALID_REQUEST, *why};
    }
    for (const ListedKey& each : std::get<std::vector<ListedKey>>(listed)) keys.push_back(each.key);
  }
  const std::string path = file + std::string(kSignatureSuffix);
  const Expected<std::string> bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.error();
  const auto signature = DecodeSnapshotSignature(
      *bytes, [&keys](const PublicKey& key) { return std::ranges::find(keys, key) != keys.end(); });
  if (const auto* why = std::get_if<std::string>(&signature)) return Wrong(path, *why);
  Expected<std::unique_ptr<SnapshotOnDisk>> snapshot = OpenOnDisk(file);
  if (!snapshot.ok()) return snapshot.error();
  const SnapshotReader& reader = *(*snapshot)->reader;
  const auto& known = std::get<SnapshotSignature>(signature);
  if (reader.index_sha256() != known.index_sha256 || reader.file_bytes() != known.file_bytes) {
    return Wrong(file, "it is not the snapshot that was signed: sign it again");
  }
  return known.signer;
}

void AddSignCommand(CLI::App* snapshot, const CommonOptions& common, int* exit_code) {
  const auto options = std::make_shared<SignOptions>();
  CLI::App* command = snapshot->add_subcommand(
      "sign", "Sign snapshots for shelves: FILE.sig beside each FILE, without a daemon");
  command->footer("Example: cccl-cache-cli snapshot sign --key site.key kernels.snap");
  command->add_option("--key", options->key, "Secret key from remote keygen")
      ->required()
      ->type_name("FILE");
  command->add_option("FILE", options->files, "Snapshots to sign")->required();
  command->callback([options, &common, exit_code] { *exit_code = Sign(*options, common); });
}

}  // namespace cccl_cache::cli
