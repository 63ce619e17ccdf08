// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/text.h"
#include "cli/terminal/command.h"
#include "cli/terminal/files.h"
#include "proto/digest.h"
#include "proto/signature.h"

namespace cccl_cache::cli {
namespace {

constexpr char kDefaultList[] = "/etc/cccl-cached/trusted-keys";
constexpr std::string_view kNewList =
    "# Keys of nodes whose results this node takes. cccl-cache-cli remote trust and revoke change "
    "it.\n";
constexpr std::string_view kReload =
    "systemctl reload cccl-cached makes a running daemon take the list\n";
/// The largest number of keys that an error message lists.
constexpr size_t kMaxNamed = 20;

struct KeyOptions {
  std::string secret_file;
  std::string comment;
  std::string list = kDefaultList;
  std::string given;  ///< argument: a file of public keys, or (for revoke) a key or its first
                      ///< digits
};

using ListedKeys = std::vector<ListedKey>;

Error WrongKeys(std::string why) { return {CCCL_CACHE_INVALID_REQUEST, std::move(why)}; }

// remote keygen

/// Creates a key file and syncs it to the disk. Fails if the file exists, because a key is never
/// overwritten.
Expected<Done> MakeKeyFile(const std::string& path, std::string_view contents, mode_t mode) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid() && errno == EEXIST) {
    return WrongKeys(path + " exists, and a key is never overwritten: name another file");
  }
  const auto failed = [&path] {
    return Error{CCCL_CACHE_UNAVAILABLE, "can't make " + path + ": " + std::strerror(errno)};
  };
  if (!file.valid()) return failed();
  if (WriteAll(file.get(), contents) && fchmod(file.get(), mode) == 0 && fsync(file.get()) == 0)
    return Done{};
  const Error error = failed();
  unlink(path.c_str());
  return error;
}

int MakeKey(const KeyOptions& options, const CommonOptions& common) {
  const auto made = SigningKey::Generate();
  if (const auto* why = std::get_if<std::string>(&made)) {
    return Fail({CCCL_CACHE_UNAVAILABLE, *why}, common);
  }
  const auto& key = std::get<SigningKey>(made);
  const std::string& secret_file = options.secret_file;
  const std::string public_file = secret_file + ".pub";
  const std::string line = PublicKeyLine(key.public_key(), options.comment);
  const Expected<Done> secret = MakeKeyFile(secret_file, SigningKeyText(key), 0600);
  if (!secret.ok()) return Fail(secret.error(), common);
  const Expected<Done> open = MakeKeyFile(public_file, line, 0644);
  if (!open.ok()) {
    unlink(secret_file.c_str());
    return Fail(open.error(), common);
  }
  if (!common.json) {
    return Print("made " + secret_file +
                 ", the secret key: for this node alone, and its owner must be the daemon's user\n"
                 "made " +
                 public_file + ", the public key: for remote trust on the other nodes\n" + line);
  }
  JsonWriter json = BeginAnswer();
  json.Fields("key", key.public_key().Hex(), "secret_file", secret_file, "public_file",
              public_file);
  return Print(json.EndObject().Finish());
}

// remote trust, revoke and keys

Expected<ListedKeys> KeysIn(std::string_view text, const std::string& file) {
  auto keys = ParsePublicKeys(text, file);
  if (auto* wrong = std::get_if<std::string>(&keys)) return WrongKeys(std::move(*wrong));
  return std::get<ListedKeys>(std::move(keys));
}

struct KeyList {
  std::string text;
  ListedKeys keys;
};

Expected<KeyList> ReadList(const std::string& file) {
  Expected<std::string> text = ReadFile(file);
  if (!text.ok()) return text.error();
  Expected<ListedKeys> keys = KeysIn(*text, file);
  if (!keys.ok()) return keys.error();
  return KeyList{*std::move(text), *std::move(keys)};
}

/// Locks the list of trusted keys against other processes that change it, and waits if it is
/// locked. The lock is held until the result is destroyed. `flags` for open() are O_CREAT or 0. A
/// user without write permission can't lock the list.
Expected<FileDescriptor> LockList(const std::string& file, int flags) {
  const auto failed = [&file] {
    return Error{CCCL_CACHE_UNAVAILABLE, "can't change " + file + ": " + std::strerror(errno)};
  };
  while (true) {
    FileDescriptor held(open(file.c_str(), O_RDWR | O_CLOEXEC | flags, 0644));
    if (!held.valid()) return failed();
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (fcntl(held.get(), F_OFD_SETLKW, &whole) != 0) return failed();
    // While this process waited, the previous holder of the lock may have replaced the file. The
    // lock must be on the file that now has this path.
    struct stat locked {};
    struct stat there {};
    const bool found = stat(file.c_str(), &there) == 0;
    if (fstat(held.get(), &locked) != 0) return failed();
    if (found && locked.st_dev == there.st_dev && locked.st_ino == there.st_ino) return held;
  }
}

bool HoldsKey(const ListedKeys& keys, const PublicKey& key) {
  return std::ranges::find(keys, key, &ListedKey::key) != keys.end();
}

std::string Described(const ListedKey& key) { return PublicKeyLine(key.key, key.comment); }

void WriteKeys(const ListedKeys& keys, JsonWriter* json) {
  json->Key("keys").BeginArray();
  for (const ListedKey& each : keys) {
    json->BeginObject().Fields("key", each.key.Hex(), "comment", each.comment).EndObject();
  }
  json->EndArray();
}

/// Prints which keys of a list have changed, or with --json the whole list too. `changed` are the
/// keys that were `verb` ("added" or "removed").
int ReportKeys(const std::string& list, const ListedKeys& now, const char* verb,
               const ListedKeys& changed, const CommonOptions& common) {
  if (common.json) {
    JsonWriter json = BeginAnswer();
    json.Key("list").String(list).Key(verb).BeginArray();
    for (const ListedKey& each : changed) json.String(each.key.Hex());
    json.EndArray();
    WriteKeys(now, &json);
    return Print(json.EndObject().Finish());
  }
  std::string text;
  for (const ListedKey& each : changed) text.append(verb).append(" ").append(Described(each));
  if (changed.empty()) text = "nothing changed: the list holds it already\n";
  return Print(text.append(list).append(": ").append(kReload));
}

int Trust(const KeyOptions& options, const CommonOptions& common) {
  const Expected<KeyList> given = ReadList(options.given);
  if (!given.ok()) return Fail(given.error(), common);
  if (given->keys.empty()) return Fail(WrongKeys(options.given + " holds no key"), common);
  const Expected<FileDescriptor> lock = LockList(options.list, O_CREAT);
  if (!lock.ok()) return Fail(lock.error(), common);
  Expected<KeyList> list = ReadList(options.list);
  if (!list.ok()) return Fail(list.error(), common);
  if (list->text.empty()) list->text = kNewList;
  ListedKeys added;
  if (!list->text.empty() && list->text.back() != '\n') list->text += '\n';
  for (const ListedKey& each : given->keys) {
    if (HoldsKey(list->keys, each.key)) continue;
    list->text += Described(each);
    list->keys.push_back(each);
    added.push_back(each);
  }
  if (!added.empty()) {
    // The new text is parsed before it is written, because the daemon must not find an invalid
    // list.
    const Expected<ListedKeys> read = KeysIn(list->text, options.list);
    if (!read.ok()) return Fail(read.error(), common);
    const Expected<Done> written = WriteSharedFile(options.list, list->text);
    if (!written.ok()) return Fail(written.error(), common);
  }
  return ReportKeys(options.list, list->keys, "added", added, common);
}

/// Returns a text that lists the keys, for an error message.
std::string NamedKeys(const ListedKeys& keys) {
  if (keys.empty()) return "it holds none";
  std::string text = "it holds ";
  for (size_t i = 0; i < std::min(keys.size(), kMaxNamed); ++i) {
    text += (i == 0 ? "" : ", ") + keys[i].key.Hex();
    if (!keys[i].comment.empty()) text += " (" + Printable(keys[i].comment) + ")";
  }
  if (keys.size() <= kMaxNamed) return text;
  return text + " and " + std::to_string(keys.size() - kMaxNamed) + " more: see remote keys";
}

/// Returns the keys of the list that the user wants to revoke. The argument is a key, its first
/// digits, or a file of keys.
Expected<ListedKeys> ToRevoke(const KeyOptions& options, const ListedKeys& listed) {
  const auto missing = [&](const std::string& key) {
    return WrongKeys("nothing was revoked: " + options.list + " holds no key " + key + "; " +
                     NamedKeys(listed));
  };
  ListedKeys found;
  if (const auto prefix = DigestPrefix::FromHex(options.given)) {
    for (const ListedKey& each : listed) {
      if (prefix->Matches(Digest{each.key.bytes}) && !HoldsKey(found, each.key))
        found.push_back(each);
    }
    if (found.empty()) return missing(prefix->hex);
    if (found.size() > 1) {
      return WrongKeys("nothing was revoked: " + std::to_string(found.size()) + " keys of " +
                       options.list + " begin with " + options.given + ": give more digits");
    }
    return found;
  }
  const Expected<KeyList> given = ReadList(options.given);
  if (!given.ok()) return given.error();
  if (given->keys.empty()) return WrongKeys(options.given + " holds no key");
  for (const ListedKey& each : given->keys) {
    if (!HoldsKey(listed, each.key)) return missing(each.key.Hex());
    if (!HoldsKey(found, each.key)) found.push_back(each);
  }
  return found;
}

/// Returns the text of the list without the lines of the keys in `gone`.
std::string WithoutKeys(const ListedKeys& gone, const KeyList& list) {
  std::string kept;
  std::string_view rest = list.text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, std::min(rest.find('\n'), rest.size() - 1) + 1);
    rest.remove_prefix(line.size());
    const auto listed = std::ranges::find(list.keys, number, &ListedKey::line);
    if (listed == list.keys.end() || !HoldsKey(gone, listed->key)) kept.append(line);
  }
  return kept;
}

int Revoke(const KeyOptions& options, const CommonOptions& common) {
  const Expected<FileDescriptor> lock = LockList(options.list, 0);
  if (!lock.ok()) return Fail(lock.error(), common);
  Expected<KeyList> list = ReadList(options.list);
  if (!list.ok()) return Fail(list.error(), common);
  const Expected<ListedKeys> gone = ToRevoke(options, list->keys);
  if (!gone.ok()) return Fail(gone.error(), common);
  const Expected<Done> written = WriteSharedFile(options.list, WithoutKeys(*gone, *list));
  if (!written.ok()) return Fail(written.error(), common);
  std::erase_if(list->keys, [&](const ListedKey& each) { return HoldsKey(*gone, each.key); });
  return ReportKeys(options.list, list->keys, "removed", *gone, common);
}

int ShowKeys(const KeyOptions& options, const CommonOptions& common) {
  const Expected<KeyList> list = ReadList(options.list);
  if (!list.ok()) return Fail(list.error(), common);
  if (common.json) {
    JsonWriter json = BeginAnswer();
    WriteKeys(list->keys, &json.Key("list").String(options.list));
    return Print(json.EndObject().Finish());
  }
  std::string text;
  for (const ListedKey& each : list->keys) text += Described(each);
  return Print(text.empty() ? "no keys\n" : text);
}

using KeyAction = int (*)(const KeyOptions&, const CommonOptions&);

void AddList(CLI::App* command, KeyOptions* options) {
  command->add_option("--list", options->list, "File of the trusted keys")
      ->type_name("FILE")
      ->capture_default_str();
}

}  // namespace

void AddKeyCommands(CLI::App* remote, const CommonOptions& common, int* exit_code) {
  const auto options = std::make_shared<KeyOptions>();
  const auto add = [&](const char* name, const char* help, const char* example, KeyAction run) {
    CLI::App* added = remote->add_subcommand(name, help);
    added->footer(std::string("Example: ") + example);
    added->callback([run, options, &common, exit_code] { *exit_code = run(*options, common); });
    return added;
  };

  CLI::App* keygen =
      add("keygen", "Make a key to sign with, as FILE, and its public half, as FILE.pub",
          "cccl-cache-cli remote keygen --out node.key", MakeKey);
  keygen->add_option("--out", options->secret_file, "File of the secret key; must not exist")
      ->required()
      ->type_name("FILE");
  options->comment = HostName();
  keygen
      ->add_option("--comment", options->comment,
                   "What the public key's line says besides (default: the name of this machine)")
      ->type_name("TEXT");

  CLI::App* trust = add("trust", "Have this node take entries signed by the owners of public keys",
                        "sudo cccl-cache-cli remote trust node.key.pub", Trust);
  trust
      ->add_option("PUBLIC_KEY_FILE", options->given,
                   "File from remote keygen; \"-\": standard input")
      ->required();
  AddList(trust, options.get());

  CLI::App* revoke = add("revoke", "Have this node refuse entries signed by the owner of a key",
                         "sudo cccl-cache-cli remote revoke node.key.pub", Revoke);
  revoke
      ->add_option("KEY|PUBLIC_KEY_FILE", options->given,
                   "Public key, or its first 8 or more digits, or the file that it came in")
      ->required();
  AddList(revoke, options.get());

  CLI::App* keys = add("keys", "List the public keys that this node trusts, with their comments",
                       "cccl-cache-cli remote keys --json", ShowKeys);
  AddList(keys, options.get());
}

}  // namespace cccl_cache::cli
