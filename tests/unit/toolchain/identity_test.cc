// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/toolchain/identity.h"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "daemon/toolchain/finder.h"
#include "tests/unit/toolchain/toolchain_fixture.h"

namespace identity_test {

using namespace cccl_cache::daemon;
using cccl_cache::Sha256;
using cccl_cache::StampReader;

namespace {

Survey YoungSurveyOf(const TempTree& tree, const std::string& name) {
  const FoundInstallations found = FindInstallations(Roots({tree.Path(name)}));
  REQUIRE(found.installations.size() == 1);
  Result<Survey> survey = SettledSurvey(found.installations.front(), geteuid(), nullptr);
  REQUIRE(survey.ok());
  return std::move(*survey);
}

/// Returns a survey with stamps that prove, as if the files had been written long ago.
Survey SurveyOf(const TempTree& tree, const std::string& name) {
  Survey survey = YoungSurveyOf(tree, name);
  for (SurveyedPart* part : {&survey.nvrtc, &survey.headers, &survey.nvjitlink, &survey.nvvm}) {
    part->stamps_prove = true;
  }
  return survey;
}

SurveyedFile Surveyed(const std::string& path) {
  const auto read = StampReader().At(path);
  REQUIRE(read);
  return {"name", path, read->stamp};
}

Identity Identify(MetaStore& meta, const TempTree& tree, const std::string& name) {
  const Result<Identity> identity = Identifier(meta).Identify(SurveyOf(tree, name), {});
  REQUIRE(identity.ok());
  return *identity;
}

Identity Identify(const TempTree& tree, const std::string& name) {
  FakeMetaStore meta;
  return Identify(meta, tree, name);
}

}  // namespace

TEST_CASE("the same contents at two places have one identity") {
  const TempTree tree;
  tree.Toolkit("one", 13, 0);
  tree.Toolkit("two", 13, 0);
  tree.Rename("two/lib", "two/lib64");
  CHECK(Identify(tree, "one").whole == Identify(tree, "two").whole);
}

TEST_CASE("one changed byte of a header makes another toolchain, but not another compiler") {
  const TempTree tree;
  tree.Toolkit("one", 13, 0);
  tree.Toolkit("two", 13, 0);
  tree.Write("two/include/cccl/cub/cub.cuh", "cuB");
  const Identity one = Identify(tree, "one");
  const Identity two = Identify(tree, "two");
  CHECK(one.whole != two.whole);
  CHECK(one.nvrtc == two.nvrtc);
  CHECK(one.headers->Find("0/cccl/cub") != two.headers->Find("0/cccl/cub"));
  CHECK(one.headers->Find("0/cuda_runtime.h") == two.headers->Find("0/cuda_runtime.h"));
  CHECK(one.nvjitlink == two.nvjitlink);
  CHECK(one.nvvm == two.nvvm);
}

TEST_CASE("a change of a file changes the identity of its part") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  const Identity before = Identify(tree, "cuda");
  SECTION("the builtins") {
    tree.Write("cuda/lib/libnvrtc-builtins.so.13.0", "BUILTINS");
    CHECK(Identify(tree, "cuda").nvrtc != before.nvrtc);
  }
  SECTION("the NVRTC") {
    tree.Write("cuda/lib/libnvrtc.so.13", "COMPILER");
    CHECK(Identify(tree, "cuda").nvrtc != before.nvrtc);
  }
  SECTION("a header's name") {
    tree.Rename("cuda/include/cccl/cub/cub.cuh", "cuda/include/cccl/cub/CUB.cuh");
    CHECK(Identify(tree, "cuda").headers->Find("") != before.headers->Find(""));
  }
  SECTION("the linker") {
    tree.Write("cuda/lib/libnvJitLink.so.13", "LINKER");
    CHECK(Identify(tree, "cuda").nvjitlink != before.nvjitlink);
  }
  SECTION("libdevice") {
    tree.Write("cuda/nvvm/libdevice/libdevice.10.bc", "LIBDEVICE");
    CHECK(Identify(tree, "cuda").nvvm != before.nvvm);
  }
  SECTION("the absence of a part") {
    tree.Remove("cuda/nvvm");
    CHECK(Identify(tree, "cuda").nvvm != before.nvvm);
  }
  CHECK(Identify(tree, "cuda").whole != before.whole);
}

TEST_CASE("files with known stamps are not read again") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  FakeMetaStore meta;
  const Identity first = Identify(meta, tree, "cuda");
  const size_t writes = meta.writes();
  CHECK(writes == 4);
  CHECK(Identify(meta, tree, "cuda").whole == first.whole);
  CHECK(meta.writes() == writes);
  meta.ForgeFileDigests();
  CHECK(Identify(meta, tree, "cuda").whole != first.whole);
}

TEST_CASE("only the part that changed is read again") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  FakeMetaStore meta;
  const Identity first = Identify(meta, tree, "cuda");
  const size_t writes = meta.writes();
  tree.Write("cuda/include/cuda_runtime.h", "RUNTIME");
  CHECK(Identify(meta, tree, "cuda").whole != first.whole);
  CHECK(meta.writes() == writes + 1);
}

TEST_CASE("a file is read each time if its stamp is not trusted") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  FakeMetaStore meta;
  Survey survey = SurveyOf(tree, "cuda");
  survey.nvrtc.stamps_prove = YoungSurveyOf(tree, "cuda").nvrtc.stamps_prove;
  const auto first = Identifier(meta).Identify(survey, {});
  REQUIRE(first.ok());
  CHECK(meta.writes() == 3);
  meta.ForgeFileDigests();
  const auto second = Identifier(meta).Identify(survey, {});
  REQUIRE(second.ok());
  CHECK(second->nvrtc == first->nvrtc);
  CHECK(second->nvjitlink != first->nvjitlink);
}

TEST_CASE("a broken record is ignored") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  FakeMetaStore meta;
  const Identity first = Identify(meta, tree, "cuda");
  class BrokenStore final : public MetaStore {
   public:
    std::optional<std::string> GetMeta(std::string_view) override { return std::string(63, 'x'); }
    void PutMeta(std::string_view, std::string_view) override {}
  } broken;
  CHECK(Identify(broken, tree, "cuda").whole == first.whole);
}

TEST_CASE("a file that changed after the survey is not identified") {
  const TempTree tree;
  tree.Toolkit("cuda", 13, 0);
  FakeMetaStore meta;
  const Survey survey = SurveyOf(tree, "cuda");
  SECTION("a longer file") { tree.Write("cuda/lib/libnvrtc.so.13", "longer than before"); }
  SECTION("a removed file") { tree.Remove("cuda/include/cuda_runtime.h"); }
  const auto identity = Identifier(meta).Identify(survey, {});
  REQUIRE_FALSE(identity.ok());
  CHECK(identity.error().code == ErrorCode::kUnavailable);
}

TEST_CASE("the digest of a file is the SHA-256 of its bytes") {
  const TempTree tree;
  const std::string contents(3 << 20, 'x');
  tree.Write("file", contents);
  const SurveyedFile file = Surveyed(tree.Path("file"));
  CHECK(DigestOfFile(file, {}) == cccl_cache::Sha256(contents));
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(DigestOfFile(file, stop.get_token()));
}

TEST_CASE("files of all sizes are digested whole") {
  TempTree tree;
  tree.Write("empty", "");
  tree.Write("small", "abc");
  const std::string large((3 << 20) + 7, 'x');
  tree.Write("large", large);
  CHECK(DigestOfFile(Surveyed(tree.Path("empty")), {}) == Sha256(""));
  CHECK(DigestOfFile(Surveyed(tree.Path("small")), {}) == Sha256("abc"));
  CHECK(DigestOfFile(Surveyed(tree.Path("large")), {}) == Sha256(large));
}

TEST_CASE("a file that was replaced after the survey has no digest") {
  TempTree tree;
  tree.Write("file", "abc");
  const SurveyedFile file = Surveyed(tree.Path("file"));
  SECTION("gone") { tree.Remove("file"); }
  SECTION("longer") { tree.Write("file", "abcd"); }
  SECTION("replaced") {
    tree.Write("new", "abc");
    tree.Rename("new", "file");
  }
  SECTION("a link to the same file") {
    tree.Rename("file", "moved");
    tree.Link("file", "moved");
  }
  CHECK_FALSE(DigestOfFile(file, {}));
}

TEST_CASE("a path that can't be read as a file has no digest") {
  TempTree tree;
  tree.Directory("directory");
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("directory")), {}));
  REQUIRE(mkfifo(tree.Path("fifo").c_str(), 0600) == 0);
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("fifo")), stop.get_token()));
}

TEST_CASE("a read of a file ends at a stop request") {
  TempTree tree;
  tree.Write("file", "abc");
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(DigestOfFile(Surveyed(tree.Path("file")), stop.get_token()));
}

}  // namespace identity_test
