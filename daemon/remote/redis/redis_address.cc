// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/remote/redis/redis_address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text.h"

namespace cccl_cache::daemon {
namespace {

constexpr std::string_view kForms =
    "redis://[USER@]HOST[:PORT][,HOST...][/DATABASE], rediss:// for TLS, or "
    "unix:///PATH[?db=DATABASE]";
constexpr size_t kMaxHost = 253;  // length of the longest DNS name
constexpr size_t kMaxUser = 128;
constexpr size_t kMaxHosts = 16;  // hosts in one URL
constexpr size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, *number);
  return read.ec == std::errc() && read.ptr == end && *number >= 0;
}

/// Returns the text before the separator and removes both from `text`; without a separator, returns
/// the whole text.
std::string_view TakeUpTo(char separator, std::string_view* text) {
  const std::string_view front = text->substr(0, text->find(separator));
  text->remove_prefix(std::min(front.size() + 1, text->size()));
  return front;
}

/// Parses "HOST", "HOST:PORT", "[IPv6]" or "[IPv6]:PORT".
bool ParseHost(std::string_view text, RedisAddress* address) {
  std::string_view port;
  if (text.starts_with('[')) {
    text.remove_prefix(1);
    if (text.find(']') == std::string_view::npos) return false;
    address->host = TakeUpTo(']', &text);
    if (!text.empty() && !text.starts_with(':')) return false;
    port = text;
  } else {
    address->host = text.substr(0, text.find(':'));
    port = text.substr(address->host.size());
  }
  if (!port.empty() && !ParseNumber(port.substr(1), &address->port)) return false;
  return IsRedisHost(address->host) && address->port != 0;
}

bool ParsePath(std::string_view text, RedisAddress* address) {
  address->path = TakeUpTo('?', &text);
  if (!text.empty() &&
      (!text.starts_with("db=") || !ParseNumber(text.substr(3), &address->database))) {
    return false;
  }
  return address->path.starts_with('/') && address->path.size() <= kMaxPath &&
         address->path.find('\0') == std::string::npos;
}

/// Parses "HOST[:PORT][/DATABASE]".
bool ParseNetwork(std::string_view text, RedisAddress* address) {
  const std::string_view host = TakeUpTo('/', &text);
  if (!text.empty() && !ParseNumber(text, &address->database)) return false;
  return ParseHost(host, address);
}

}  // namespace

bool IsRedisHost(std::string_view text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  return !text.empty() && text.size() <= kMaxHost &&
         text.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<RedisAddress> ParseRedisUrl(std::string_view url) {
  RedisAddress address;
  const size_t colon = url.find("://");
  const std::string_view scheme = url.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? "" : url.substr(colon + 3);
  const bool network = scheme == "redis" || scheme == "rediss";
  address.tls = scheme == "rediss";
  // A password is refused before anything else is checked, because other errors quote the URL.
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    if (rest.substr(0, at).find(':') != std::string_view::npos) {
      return Error{ErrorCode::kInvalidRequest,
                   "the URL of a Redis must hold no password, because others can read it: write "
                   "the password into "
                   "a file and give --remote-password-file"};
    }
    address.user = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    const bool plain = std::all_of(address.user.begin(), address.user.end(),
                                   [](char c) { return c > ' ' && c < 0x7f && c != '/'; });
    if (address.user.empty() || address.user.size() > kMaxUser || !plain) rest = "";
  }
  const bool good =
      network ? ParseNetwork(rest, &address) : scheme == "unix" && ParsePath(rest, &address);
  if (good) return address;
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("'{}' is no address of a Redis: give {}", Printable(url), kForms)};
}

Result<std::vector<RedisAddress>> ParseRedisUrls(std::string_view url) {
  const size_t scheme = url.find("://");
  size_t begin = scheme == std::string_view::npos ? url.size() : scheme + 3;
  if (const size_t at = url.rfind('@'); at != std::string_view::npos)
    begin = std::max(begin, at + 1);
  const size_t end = std::min(url.find('/', begin), url.size());
  std::string_view hosts = url.substr(begin, end - begin);
  std::vector<RedisAddress> addresses;
  for (bool more = true; more && addresses.size() < kMaxHosts;) {
    more = hosts.find(',') != std::string_view::npos;
    Result<RedisAddress> address = ParseRedisUrl(
        fmt::format("{}{}{}", url.substr(0, begin), TakeUpTo(',', &hosts), url.substr(end)));
    if (!address) return address.error();
    addresses.push_back(*std::move(address));
  }
  if (hosts.empty()) return addresses;
  return Error{ErrorCode::kInvalidRequest,
               fmt::format("the URL of a Redis names more than {} hosts", kMaxHosts)};
}

std::string ToUrl(const RedisAddress& address) {
  const std::string user = address.user.empty() ? "" : address.user + "@";
  if (!address.path.empty()) {
    return fmt::format("unix://{}{}{}", user, address.path,
                       address.database == 0 ? "" : fmt::format("?db={}", address.database));
  }
  const bool six = address.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}{}:{}{}", address.tls ? "rediss" : "redis", user, six ? "[" : "",
                     address.host, six ? "]" : "", address.port,
                     address.database == 0 ? "" : fmt::format("/{}", address.database));
}

}  // namespace cccl_cache::daemon
