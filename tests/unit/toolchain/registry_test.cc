// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/registry.h"

#include <catch2/catch.hpp>

#include "tests/unit/toolchain/toolchain_fixture.h"

namespace registry_test {

using namespace cccl_cache::daemon;
using cccl_cache::BuildKind;
using cccl_cache::ToolchainSelector;
using namespace std::string_literals;

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

/// Returns 13.1, 13.0, 12.9 and 12.4. Only 12.9 has nvJitLink. The ids of 12.9 and 12.4 have the
/// same first eight digits.
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

TEST_CASE("without a selector the newest toolchain serves") { CHECK(Chosen({}) == "13.1"); }

TEST_CASE("without a selector the newest toolchain that the driver can load serves") {
  CHECK(Chosen({}, 13020) == "13.1");
  CHECK(Chosen({}, 13010) == "13.1");
  CHECK(Chosen({}, 12090) == "12.9");
}

TEST_CASE("a toolchain with PTX for the driver is preferred to newer ones of its major") {
  CHECK(Chosen({}, 13000) == "13.0");
  CHECK(Chosen({}, 12080) == "12.4");
  CHECK(Chosen({.major = 13}, 13000) == "13.0");
}

TEST_CASE("a newer toolchain of the driver's major is preferred to one of an older major") {
  CHECK(Chosen({}, 12030) == "12.9");
  CHECK(Chosen({.major = 13}, 12080) == "13.1");
  CHECK(Chosen({}, 12080, BuildKind::kLink) == "12.9");
}

TEST_CASE("if the driver can load none, the newest toolchain serves") {
  CHECK(Chosen({}, 11080) == "13.1");
}

TEST_CASE("a toolchain without the library for the kind does not serve") {
  CHECK(Chosen({}, 0, BuildKind::kLink) == "12.9");
  CHECK(Chosen({}, 11080, BuildKind::kLink) == "12.9");
  CHECK(Chosen({}, 0, BuildKind::kNvvm) == "toolchain-not-found");
}

TEST_CASE("a major selects its newest toolchain, a version the toolchain of that version") {
  CHECK(Chosen({.major = 13}) == "13.1");
  CHECK(Chosen({.major = 12}) == "12.9");
  CHECK(Chosen({.major = 11}) == "toolchain-not-found");
  CHECK(Chosen({.version = "13.0"}) == "13.0");
  CHECK(Chosen({.version = "13.2"}) == "toolchain-not-found");
}

TEST_CASE("an invalid version is a bad request") {
  for (const char* version : {"13", "13.", ".0", "13.0.88", "a.b", "13.0 ", "999999999999.1"}) {
    CAPTURE(version);
    CHECK(Chosen({.version = version}) == "invalid-request");
  }
}

TEST_CASE("a toolchain may be selected by the first digits of its id") {
  CHECK(Chosen({.id = "ab000002"}) == "13.0");
  CHECK(Chosen({.id = "AB000002"}) == "13.0");
  CHECK(Chosen({.id = Present()[1]->id.Hex()}) == "13.0");
  CHECK(Chosen({.id = "ab000003ff"}) == "12.4");
  CHECK(Chosen({.id = "ab000009"}) == "toolchain-not-found");
}

TEST_CASE("ambiguous, too few or invalid digits of an id are a bad request") {
  CHECK(Chosen({.id = "ab000003"}) == "invalid-request");
  CHECK(Chosen({.id = "ab00000"}) == "invalid-request");
  CHECK(Chosen({.id = "xb000002"}) == "invalid-request");
  CHECK(Chosen({.id = std::string(65, 'a')}) == "invalid-request");
}

TEST_CASE("a library selects the toolchain with the same file, else with the same bytes") {
  const cccl_cache::Digest bytes = cccl_cache::Sha256("bytes");
  const auto with = [&](int minor, std::string_view stamp, const cccl_cache::Digest& id) {
    Toolchain toolchain = *Make(13, minor, 0);
    toolchain.nvrtc->id = id;
    if (!stamp.empty()) toolchain.nvrtc->stamp = cccl_cache::Sha256(stamp);
    return std::make_shared<const Toolchain>(toolchain);
  };
  const std::vector<ToolchainPtr> present = {with(4, "", cccl_cache::Sha256("others")),
                                             with(3, "copy", bytes), with(2, "file", bytes)};
  const auto chosen = [&](const std::string& known, BuildKind kind = BuildKind::kNvrtc) {
    const cccl_cache::ToolchainSelector selector{.id = "library:" + known};
    const auto found = Choose(present, {selector, 0, kind});
    return found.ok() ? (*found)->version() : std::string(Name(found.error().code));
  };
  const std::string file = cccl_cache::Sha256("file").Hex();
  const std::string elsewhere = cccl_cache::Sha256("elsewhere").Hex();
  CHECK(chosen(file + "," + bytes.Hex()) == "13.2");
  CHECK(chosen(file + ",") == "13.2");
  CHECK(chosen(elsewhere + "," + bytes.Hex()) == "13.3");
  CHECK(chosen("," + bytes.Hex()) == "13.3");
  for (const std::string& unknown :
       {elsewhere + "," + elsewhere, elsewhere + ",", ","s, bytes.Hex() + ","}) {
    CAPTURE(unknown);
    CHECK(chosen(unknown) == "toolchain-not-found");
  }
  CHECK(chosen(file + ",", BuildKind::kLink) == "toolchain-not-found");
  for (const std::string& malformed : {file.substr(1) + ",", file + ",x", file + ",,"}) {
    CAPTURE(malformed);
    CHECK(chosen(malformed) == "invalid-request");
  }
}

TEST_CASE("no other toolchain serves if the selected one lacks the library") {
  const auto chosen = Choose(Present(), {{.id = "ab000002"}, 0, BuildKind::kLink});
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().message == "toolchain \"ab000002\" has no nvJitLink");
}

TEST_CASE("the error lists the present and the rejected toolchains, and the remedy") {
  const std::vector<RejectedToolchain> rejected = {{"/opt/cuda", "others can write it"}};
  const Error error = NotFound("there is no toolchain of CUDA 11", Present(), rejected);
  CHECK(error.code == ErrorCode::kToolchainNotFound);
  for (const char* part :
       {"there is no toolchain of CUDA 11. Present: 13.1 (ab0000010000, /cuda-13.1); ",
        "). Found and not used: /opt/cuda: others can write it. Install one", "--toolchain-root"}) {
    CHECK_THAT(error.message, Catch::Contains(part));
  }
  CHECK_THAT(NotFound("there is no toolchain", {}, {}).message,
             Catch::Contains("None is present. Install one"));
}

TEST_CASE("a toolchain is described with absolute paths, versions and capabilities") {
  Node node;
  node.compiler.rejected_options = {"--no-cache"};
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  const ToolchainPtr toolchain = registry.Only();
  CHECK(toolchain->version() == "13.0");
  CHECK(toolchain->root == node.tree.Path("cuda"));
  REQUIRE(toolchain->nvrtc);
  CHECK(toolchain->nvrtc->path == node.tree.Path("cuda/lib/libnvrtc.so.13"));
  CHECK(toolchain->nvrtc->preload ==
        std::vector{node.tree.Path("cuda/lib/libnvrtc-builtins.so.13.0")});
  CHECK(toolchain->nvjitlink->version == "13.0");
  CHECK(toolchain->nvvm->path == node.tree.Path("cuda/nvvm/lib64/libnvvm.so.4"));
  CHECK(toolchain->libdevice == node.tree.Path("cuda/nvvm/libdevice/libdevice.10.bc"));
  CHECK(toolchain->headers.size() == 2);
  CHECK(toolchain->capabilities.random_seed);
  CHECK_FALSE(toolchain->capabilities.no_cache);
}

TEST_CASE("a restart reads no file and probes nothing") {
  Node node;
  const SearchPlaces places = Roots({node.tree.Path("cuda")});
  const auto id = TestedRegistry(places, node.meta, node.compiler).Only()->id;
  const size_t writes = node.meta.writes();
  const int compiles = node.compiler.compiles;
  CHECK(TestedRegistry(places, node.meta, node.compiler).Only()->id == id);
  CHECK(node.meta.writes() == writes);
  CHECK(node.compiler.compiles == compiles);
}

TEST_CASE("a release that a user added serves only builds that name its id") {
  Node node;
  node.tree.Toolkit("added/nvrtc-13.5.37", 13, 5);
  RegistryOptions options = OnlyWhenAsked(Roots({node.tree.Path("cuda")}));
  options.places.added = node.tree.Path("added");
  TestedRegistry registry(options, node.meta, node.compiler);
  const auto installed = registry.Default();
  REQUIRE(installed.ok());
  CHECK((*installed)->root == node.tree.Path("cuda"));
  CHECK_FALSE(registry.Select({.version = "13.5"}, BuildKind::kNvrtc).ok());
  const ToolchainPtr newest = registry->Present().front();
  CHECK(newest->minor == 5);
  const auto named = registry.Select({.id = newest->id.Hex()}, BuildKind::kNvrtc);
  REQUIRE(named.ok());
  CHECK(*named == newest);
}

TEST_CASE("toolchains of several majors are listed, newest first") {
  Node node;
  node.tree.Wheels12("wheels", 9);
  TestedRegistry registry(Roots({node.tree.Path("wheels"), node.tree.Path("cuda")}), node.meta,
                          node.compiler);
  const auto present = registry->Present();
  REQUIRE(present.size() == 2);
  CHECK(present[0]->version() == "13.0");
  CHECK(present[1]->version() == "12.9");
  CHECK((*registry.Select({.major = 12}, BuildKind::kLink))->version() == "12.9");
}

TEST_CASE("a second installation with equal contents is reported, and is no second toolchain") {
  Node node;
  node.tree.Toolkit("copy", 13, 0);
  TestedRegistry registry(Roots({node.tree.Path("cuda"), node.tree.Path("copy")}), node.meta,
                          node.compiler);
  CHECK(registry.Only()->root == node.tree.Path("cuda"));
  CHECK(registry->Rejected().empty());
  bool noted = false;
  for (const ToolchainReport& report : registry.Reports()) {
    noted |= report.text.starts_with(node.tree.Path("copy") + " has the same contents");
  }
  CHECK(noted);

  // When the first is gone, the second serves.
  const auto id = registry.Only()->id;
  node.tree.Remove("cuda");
  const auto chosen = registry.Default();
  REQUIRE(chosen.ok());
  CHECK((*chosen)->root == node.tree.Path("copy"));
  CHECK((*chosen)->id == id);
}

TEST_CASE("the error of an installation that others can write has path, mode and remedy") {
  Node node;
  node.tree.Mode("cuda/include/cccl", 0777);
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  CHECK(registry->Present().empty());
  const auto rejected = registry->Rejected();
  REQUIRE(rejected.size() == 1);
  CHECK(rejected[0].root == node.tree.Path("cuda"));
  CHECK_THAT(rejected[0].reason, Catch::Contains(node.tree.Path("cuda/include/cccl")) &&
                                     Catch::Contains("0777") && Catch::Contains("chmod"));
  const auto chosen = registry.Default();
  REQUIRE_FALSE(chosen.ok());
  CHECK(chosen.error().code == ErrorCode::kToolchainNotFound);
  CHECK_THAT(chosen.error().message, Catch::Contains(rejected[0].reason));
  CHECK(node.compiler.compiles == 0);
}

TEST_CASE("a toolchain with a crashing compiler is rejected, and the others serve") {
  Node node;
  node.tree.Wheels12("wheels", 9);
  node.tree.Write("cuda/lib/libnvrtc.so.13", "another compiler");
  node.compiler.broken_root = node.tree.Path("cuda");
  TestedRegistry registry(Roots({node.tree.Path("wheels"), node.tree.Path("cuda")}), node.meta,
                          node.compiler);
  CHECK(registry.Only()->version() == "12.9");
  REQUIRE(registry->Rejected().size() == 1);
  CHECK_THAT(registry->Rejected()[0].reason, Catch::Contains("signal 11"));

  // The cause may be temporary.
  node.compiler.broken_root.reset();
  registry.Rescan();
  CHECK(registry->Present().size() == 2);
}

TEST_CASE("the next request after a change gets another toolchain") {
  Node node;
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  const ToolchainPtr before = registry.Only();
  CHECK(registry->Unchanged(*before));
  REQUIRE(registry.Default().ok());
  bool same_compiler = true;
  SECTION("a header written in place") {
    node.tree.Write("cuda/include/cuda_runtime.h", "RUNTIME");
  }
  SECTION("a library replaced by renaming") {
    node.tree.Write("new", "COMPILER");
    node.tree.Rename("new", "cuda/lib/libnvrtc.so.13");
    same_compiler = false;
  }
  SECTION("a header added") { node.tree.Write("cuda/include/new.h", ""); }
  SECTION("a header removed") { node.tree.Remove("cuda/include/cuda_runtime_api.h"); }
  CHECK_FALSE(registry->Unchanged(*before));
  const auto after = registry.Default();
  REQUIRE(after.ok());
  CHECK((*after)->id != before->id);
  CHECK(((*after)->nvrtc->id == before->nvrtc->id) == same_compiler);
  CHECK(((*after)->contents->Find("") == before->contents->Find("")) != same_compiler);
  CHECK((*after)->nvjitlink->id == before->nvjitlink->id);
  CHECK(registry->Unchanged(**after));
  CHECK_FALSE(registry->Unchanged(*before));
}

TEST_CASE("a toolchain whose files change and change back gets another serial") {
  Node node;
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  const ToolchainPtr before = registry.Only();
  node.tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER");
  node.tree.Write("cuda/lib/libnvrtc.so.13", "compiler");
  CHECK_FALSE(registry->Unchanged(*before));
  const auto after = registry.Default();
  REQUIRE(after.ok());
  CHECK((*after)->id == before->id);
  CHECK((*after)->serial != before->serial);
  CHECK_FALSE(registry->Unchanged(*before));
  CHECK(registry->Unchanged(**after));
}

TEST_CASE("a toolchain that becomes writable for others stops serving") {
  Node node;
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  REQUIRE(registry.Default().ok());
  node.tree.Mode("cuda/lib", 0777);
  CHECK_FALSE(registry.Default().ok());
  node.tree.Mode("cuda/lib", 0755);
  registry.Rescan();
  CHECK(registry.Default().ok());
}

TEST_CASE("a stray file beside the libraries changes nothing") {
  Node node;
  TestedRegistry registry(Roots({node.tree.Path("cuda")}), node.meta, node.compiler);
  const ToolchainPtr before = registry.Only();
  node.tree.Write("cuda/lib/libcublas.so.13", "");
  CHECK(registry->Unchanged(*before));
  registry.Rescan();
  CHECK(registry.Only() == before);
}

TEST_CASE("an alias that now leads elsewhere is dropped") {
  Node node;
  node.tree.Link("link", "cuda");
  TestedRegistry registry(Roots({node.tree.Path("link")}), node.meta, node.compiler);
  const ToolchainPtr before = registry.Only();
  REQUIRE(before->headers[0].aliases == std::vector{node.tree.Path("link/include")});
  node.tree.Toolkit("other", 13, 1);
  node.tree.Link("link", "other");
  CHECK_FALSE(registry->Unchanged(*before));
  const auto after = registry.Default();
  REQUIRE(after.ok());
  CHECK((*after)->root == node.tree.Path("other"));
}

}  // namespace registry_test
