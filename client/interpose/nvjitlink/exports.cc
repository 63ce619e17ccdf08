// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
// The functions of libnvJitLink. A link of nothing but LTO-IR is collected and done by the daemon
// in one step, at Complete. Whatever else a program does with it, for example to add PTX, to misuse
// it or to make a link that fails, is repeated in the real library with all calls so far, and
// answered from there. tests/integration/test_standin_calls.py compares the two.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "client/interpose/nvjitlink/functions.h"
#include "client/interpose/nvjitlink/link.h"

namespace {

using cccl_cache::interpose::Link;

constexpr LinkCode kSuccess = 0;
constexpr LinkCode kInternal = 7;

Link* Of(LinkHandle handle) { return reinterpret_cast<Link*>(handle); }
/// Returns the real library's handle.
LinkHandle RealOf(LinkHandle handle) { return handle == nullptr ? nullptr : Of(handle)->Real(); }

/// Calls the real library.
template <typename... Parameters>
LinkCode Forward(LinkCode (*real)(Parameters...), std::type_identity_t<Parameters>... values) {
  return real == nullptr ? kInternal : real(values...);
}

}  // namespace

LinkCode nvJitLinkCreate(LinkHandle* link, uint32_t count, const char** options) {
  if (link != nullptr && options != nullptr &&
      std::find(options, options + count, nullptr) == options + count) {
    std::vector<std::string> given(options, options + count);
    if (Link::Knows(given)) {
      *link = reinterpret_cast<LinkHandle>(new Link(std::move(given)));
      return kSuccess;
    }
  }
  const LinkCode code = Forward(REAL_LINK(Create), link, count, options);
  // Releases differ in whether a link that failed can be asked why.
  if (link != nullptr && *link != nullptr) *link = reinterpret_cast<LinkHandle>(new Link(*link));
  return code;
}

LinkCode nvJitLinkDestroy(LinkHandle* link) {
  if (link == nullptr || *link == nullptr) return Forward(REAL_LINK(Destroy), link);
  delete Of(*link);
  *link = nullptr;
  return kSuccess;
}

LinkCode nvJitLinkAddData(LinkHandle link, int type, const void* data, size_t size,
                          const char* name) {
  if (link != nullptr && Of(link)->Add(type, data, size, name)) return kSuccess;
  return Forward(REAL_LINK(AddData), RealOf(link), type, data, size, name);
}

LinkCode nvJitLinkAddFile(LinkHandle link, int type, const char* path) {
  return Forward(REAL_LINK(AddFile), RealOf(link), type, path);
}

LinkCode nvJitLinkComplete(LinkHandle link) {
  return link == nullptr ? Forward(REAL_LINK(Complete), link) : Of(link)->Complete();
}

// The size of what a link gave, and its bytes. A text's NUL counts.
#define LINKED(Name, Out, kind, ending)                                          \
  LinkCode nvJitLinkGetLinked##Name##Size(LinkHandle link, size_t* size) {       \
    const auto linked = link == nullptr ? std::nullopt : Of(link)->Linked(kind); \
    if (!linked || size == nullptr) {                                            \
      return Forward(REAL_LINK(GetLinked##Name##Size), RealOf(link), size);      \
    }                                                                            \
    *size = linked->size() + (ending);                                           \
    return kSuccess;                                                             \
  }                                                                              \
  LinkCode nvJitLinkGetLinked##Name(LinkHandle link, Out* out) {                 \
    const auto linked = link == nullptr ? std::nullopt : Of(link)->Linked(kind); \
    if (!linked || out == nullptr) {                                             \
      return Forward(REAL_LINK(GetLinked##Name), RealOf(link), out);             \
    }                                                                            \
    /* the byte behind a text is its NUL */                                      \
    std::memcpy(out, linked->data(), linked->size() + (ending));                 \
    return kSuccess;                                                             \
  }
LINKED(Cubin, void, CCCL_CACHE_CUBIN, 0)
LINKED(Ptx, char, CCCL_CACHE_PTX, 1)
LINKED(LTOIR, void, CCCL_CACHE_LTOIR, 0)

// An empty log has size 0, and its text is a NUL nevertheless.
#define LOG(Name, log)                                                   \
  LinkCode nvJitLinkGet##Name##LogSize(LinkHandle link, size_t* size) {  \
    if (link == nullptr || !Of(link)->quiet() || size == nullptr) {      \
      return Forward(REAL_LINK(Get##Name##LogSize), RealOf(link), size); \
    }                                                                    \
    *size = (log).empty() ? 0 : (log).size() + 1;                        \
    return kSuccess;                                                     \
  }                                                                      \
  LinkCode nvJitLinkGet##Name##Log(LinkHandle link, char* out) {         \
    if (link == nullptr || !Of(link)->quiet() || out == nullptr) {       \
      return Forward(REAL_LINK(Get##Name##Log), RealOf(link), out);      \
    }                                                                    \
    *std::ranges::copy(log, out).out = '\0';                             \
    return kSuccess;                                                     \
  }
LOG(Error, std::string_view())
LOG(Info, Of(link)->info_log())

LinkCode nvJitLinkVersion(unsigned* major, unsigned* minor) {
  return Forward(REAL(nvJitLinkVersion), major, minor);
}

void* __nvJitLinkAPI(void* a, void* b, void* c, void* d, void* e, void* f) {
  const auto real = REAL(__nvJitLinkAPI);
  return real == nullptr ? nullptr : real(a, b, c, d, e, f);
}

// Each release adds a name for each function; all of them do the same.
#define NAMED(function, release)                                                         \
  extern "C" __attribute__((visibility("default"),                                       \
                            alias("nvJitLink" #function))) decltype(nvJitLink##function) \
      __nvJitLink##function##_##release;
#define NAMES(release)               \
  NAMED(Create, release)             \
  NAMED(Destroy, release)            \
  NAMED(AddData, release)            \
  NAMED(AddFile, release)            \
  NAMED(Complete, release)           \
  NAMED(GetLinkedCubinSize, release) \
  NAMED(GetLinkedCubin, release)     \
  NAMED(GetLinkedPtxSize, release)   \
  NAMED(GetLinkedPtx, release)       \
  NAMED(GetLinkedLTOIRSize, release) \
  NAMED(GetLinkedLTOIR, release)     \
  NAMED(GetErrorLogSize, release)    \
  NAMED(GetErrorLog, release)        \
  NAMED(GetInfoLogSize, release)     \
  NAMED(GetInfoLog, release)
NAMES(12_0)
NAMES(12_1)
NAMES(12_2)
NAMES(12_3)
NAMES(12_4)
NAMES(12_5)
NAMES(12_6)
NAMES(12_7)
NAMES(12_8)
NAMES(12_9)
NAMES(13_0)
NAMES(13_1)
NAMES(13_2)
NAMES(13_3)
NAMES(13_4)
NAMES(13_5)
