// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/trust_list.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <variant>

#include "base/files/file_descriptor.h"
#include "base/files/whole_file.h"
#include "daemon/system/own_directory.h"
#include "daemon/system/trusted_path.h"

namespace cccl_cache::daemon {
namespace {

/// The permissions that only the owner may have on a file of keys, and texts for an error.
struct Forbidden {
  mode_t mode = 0;
  std::string_view deed;     ///< what others could do: "change it"
  std::string_view way_out;  ///< remedy: "chmod go-w"
};

constexpr Forbidden kToChange = {S_IWGRP | S_IWOTH, "change it", "chmod go-w"};
constexpr Forbidden kToRead = {S_IRWXG | S_IRWXO, "read or change it", "chmod 0600"};

Error Unreadable(const std::string& file, int error) {
  return {ErrorCode::kUnavailable,
          fmt::format("{} can't be read: {}: name a file that this user, uid {}, can read", file,
                      std::strerror(error), geteuid())};
}

/// Returns whether the path is in the service manager's directory of credentials. Symlinks in the
/// path must be resolved. Only the service can read files there, although an access control list
/// may set their group bits.
bool IsCredential(const std::filesystem::path& path) {
  const char* const named = std::getenv("CREDENTIALS_DIRECTORY");
  if (named == nullptr || *named != '/') return false;
  std::error_code failed;
  const std::filesystem::path directory = std::filesystem::canonical(named, failed);
  if (failed || directory == directory.root_path()) return false;
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

/// Returns the reason why the file must not be used. None if it may be used. `path` is the file's
/// path with symlinks resolved.
std::optional<Error> WhyNot(const std::string& file, const std::filesystem::path& path,
                            const struct stat& status, const Forbidden& forbidden) {
  if (!S_ISREG(status.st_mode)) {
    return Error{ErrorCode::kDenied, fmt::format("{} is no regular file: name one", file)};
  }
  if (status.st_uid != 0 && status.st_uid != geteuid()) {
    return Error{ErrorCode::kDenied,
                 fmt::format("{} belongs to uid {}, who can change it: chown it to root, or to "
                             "this user, uid {}",
                             file, status.st_uid, geteuid())};
  }
  // The group root is trusted like the user root, because mounted secrets belong to this group.
  const mode_t allowed = status.st_gid == 0 || IsCredential(path) ? S_IRGRP : 0;
  if ((status.st_mode & forbidden.mode & ~allowed) != 0) {
    return Error{ErrorCode::kDenied,
                 fmt::format("others than its owner may {} (mode {:04o}): {} {}", forbidden.deed,
                             status.st_mode & 07777, forbidden.way_out, file)};
  }
  return std::nullopt;
}

/// Returns the path of the file with symlinks resolved. Refuses a file that other users could
/// replace. A directory in which others can add files is accepted if each link and file on the way
/// belongs to root or this user, because Kubernetes mounts secrets in such directories.
Result<std::filesystem::path> FollowOwn(const std::string& file) {
  constexpr std::string_view kDanger = "put keys of their own there";
  std::error_code failed;
  const std::filesystem::path spelled = std::filesystem::absolute(file, failed);
  if (failed) return Unreadable(file, failed.value());
  const std::filesystem::path followed = std::filesystem::canonical(spelled, failed);
  if (failed) return Unreadable(file, failed.value());
  for (const std::filesystem::path& path : {spelled, followed}) {
    const Status own = CheckOwnDirectory(path.parent_path(), kDanger);
    if (own) continue;
    const auto sticky =
        FollowTrusted(spelled.string(), geteuid(), PathRole::kPassedThrough, nullptr);
    if (!sticky) return own.error();
    return std::filesystem::path(sticky->path);
  }
  return followed;
}

/// Reads a file that other users can neither have placed nor changed. Checks the directories first,
/// so that the file can't be replaced afterwards.
Result<std::string> ReadTrusted(const std::string& file, const Forbidden& forbidden) {
  const Result<std::filesystem::path> followed = FollowOwn(file);
  if (!followed) return followed.error();
  // With O_NONBLOCK, opening a pipe does not wait.
  const FileDescriptor opened(
      open(followed->c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!opened.valid() || fstat(opened.get(), &status) != 0) return Unreadable(file, errno);
  if (auto why = WhyNot(file, *followed, status, forbidden)) return *std::move(why);
  // One byte more than the limit, so that a longer file is noticed and refused.
  std::optional<std::string> text = ReadAll(opened.get(), kMaxKeyFileBytes + 1);
  if (!text) return Unreadable(file, errno);
  return *std::move(text);
}

Error Wrong(std::string message) { return {ErrorCode::kInvalidRequest, std::move(message)}; }

}  // namespace

Result<std::shared_ptr<const TrustList>> TrustList::Load(const std::vector<std::string>& files) {
  std::set<PublicKey> keys;
  for (const std::string& file : files) {
    const Result<std::string> text = ReadTrusted(file, kToChange);
    if (!text) return text.error();
    auto listed = ParsePublicKeys(*text, file);
    if (auto* wrong = std::get_if<std::string>(&listed)) return Wrong(std::move(*wrong));
    for (const ListedKey& each : std::get<0>(listed)) keys.insert(each.key);
  }
  return std::make_shared<const TrustList>(std::move(keys));
}

Result<SigningKey> LoadSigningKey(const std::string& file) {
  const Result<std::string> text = ReadTrusted(file, kToRead);
  if (!text) return text.error();
  auto key = ParseSigningKey(*text, file);
  if (auto* wrong = std::get_if<std::string>(&key)) return Wrong(std::move(*wrong));
  return std::get<SigningKey>(std::move(key));
}

Result<std::string> LoadPassword(const std::string& file) {
  const Result<std::string> text = ReadTrusted(file, kToRead);
  if (!text) return text.error();
  std::string password = text->substr(0, text->find('\n'));
  if (password.empty())
    return Wrong(fmt::format("{}: the first line, the password, is empty: write it there", file));
  return password;
}

}  // namespace cccl_cache::daemon
