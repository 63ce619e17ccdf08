// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "daemon/toolchain/registry.h"

using namespace cccl_cache::daemon;
using cccl_cache::BuildKind;
using cccl_cache::ToolchainSelector;

namespace {

ToolchainPtr Make(int major, int minor, uint8_t first_byte) {
  Toolchain toolchain;
  toolchain.major = major;
  toolchain.minor = minor;
  toolchain.id.bytes[0] = 0xab;
  toolchain.id.bytes[3] = first_byte;
  toolchain.root = "/cuda-" + toolchain.version();
  toolchain.nvrtc = CompilerLibrary{.path = "/nvrtc"};
  return std::make_shared<const Toolchain>(toolchain);
}

/// Newest first; 12.9 alone can link, two of 12.9 differ in the last digits of their short id.
const std::vector<ToolchainPtr>& Present() {
  static const std::vector<ToolchainPtr> present = [] {
    Toolchain linking = *Make(12, 9, 0x03);
    linking.nvjitlink = CompilerLibrary{.path = "/linker"};
    Toolchain twin = *Make(12, 4, 0x03);
    twin.id.bytes[4] = 0xff;
    return std::vector{Make(13, 1, 0x01), Make(13, 0, 0x02),
                       ToolchainPtr(std::make_shared<const Toolchain>(linking)),
                       ToolchainPtr(std::make_shared<const Toolchain>(twin))};
  }();
  return present;
}

std::string Chosen(const ToolchainSelector& selector, uint32_t driver = 0,
                   BuildKind kind = BuildKind::kNvrtc) {
  const auto chosen = Choose(Present(), {selector, driver, kind});
  return chosen.ok() ? (*chosen)->version() : std::string(Name(chosen.error().code));
}

}  // namespace

TEST_CASE("without a wish the newest serves") { CHECK(Chosen({}) == "13.1"); }

TEST_CASE("without a wish the newest serves that the driver can load") {
  CHECK(Chosen({}, 13020) == "13.1");
  CHECK(Chosen({}, 13010) == "13.1");
  CHECK(Chosen({}, 12090) == "12.9");
}

TEST_CASE("one whose PTX the driver takes is preferred to newer ones of its major") {
  CHECK(Chosen({}, 13000) == "13.0");
  CHECK(Chosen({}, 12080) == "12.4");
  CHECK(Chosen({.major = 13}, 13000) == "13.0");
}

TEST_CASE(
    "where there is none, cubins of a newer one of the driver's major are better than an older "
    "major's") {
  CHECK(Chosen({}, 12030) == "12.9");
  CHECK(Chosen({.major = 13}, 12080) == "13.1");
  CHECK(Chosen({}, 12080, BuildKind::kLink) == "12.9");
}

TEST_CASE("the newest serves where the driver can load none") {
  CHECK(Chosen({}, 11080) == "13.1");
}

TEST_CASE("a toolchain without the library for the kind does not serve") {
  CHECK(Chosen({}, 0, BuildKind::kLink) == "12.9");
  CHECK(Chosen({}, 11080, BuildKind::kLink) == "12.9");
  CHECK(Chosen({}, 0, BuildKind::kNvvm) == "toolchain-not-found");
}

TEST_CASE("a major names its newest, a version exactly one") {
  CHECK(Chosen({.major = 13}) == "13.1");
  CHECK(Chosen({.major = 12}) == "12.9");
  CHECK(Chosen({.major = 11}) == "toolchain-not-found");
  CHECK(Chosen({.version = "13.0"}) == "13.0");
  CHECK(Chosen({.version = "13.2"}) == "toolchain-not-found");
}

TEST_CASE("a version that is none is a bad request") {
  for (const char* version : {"13", "13.", ".0", "13.0.88", "a.b", "13.0 ", "999999999999.1"}) {
    CAPTURE(version);
    CHECK(Chosen({.version = version}) == "invalid-request");
  }
}

TEST_CASE("an id may be named by its first digits") {
  CHECK(Chosen({.id = "ab000002"}) == "13.0");
  CHECK(Chosen({.id = "AB000002"}) == "13.0");
  CHECK(Chosen({.id = Present()[1]->id.Hex()}) == "13.0");
  CHECK(Chosen({.id = "ab000003ff"}) == "12.4");
  CHECK(Chosen({.id = "ab000009"}) == "toolchain-not-found");
}

TEST_CASE("digits that fit two toolchains, too few, or that are none, are a bad request") {
  CHECK(Chosen({.id = "ab000003"}) == "invalid-request");
  CHECK(Chosen({.id = "ab00000"}) == "invalid-request");
  CHECK(Chosen({.id = "xb000002"}) == "invalid-request");
  CHECK(Chosen({.id = std::string(65, 'a')}) == "invalid-request");
}

TEST_CASE("the named toolchain serves or none does") {
  const auto chosen = Choose(Present(), {{.id = "ab000002"}, 0, BuildKind::kLink});
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().message == "toolchain \"ab000002\" has no nvJitLink");
}

TEST_CASE("the error lists those present, those not used, and the way out") {
  const std::vector<RejectedToolchain> rejected = {{"/opt/cuda", "others can write it"}};
  const Error error = NotFound("there is no toolchain of CUDA 11", Present(), rejected);
  CHECK(error.code == ErrorCode::kToolchainNotFound);
  for (const char* part :
       {"there is no toolchain of CUDA 11. Present: 13.1 (ab0000010000, /cuda-13.1);",
        "/opt/cuda: others can write it;", "--toolchain-root"}) {
    CHECK_THAT(error.message, Catch::Contains(part));
  }
  CHECK_THAT(NotFound("there is no toolchain", {}, {}).message,
             Catch::Contains("None is present. Install one"));
}
