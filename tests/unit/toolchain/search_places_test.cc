// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/utsname.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "daemon/toolchain/layout.h"

using namespace cccl_cache::daemon;
using Paths = std::vector<std::string>;

namespace {

/// One variable of the environment with another value, or without one, for the life of this.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    Set(value);
  }
  ~Variable() { Set(before_ ? before_->c_str() : nullptr); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void Set(const char* value) {
    if (value == nullptr) {
      unsetenv(name_);
    } else {
      setenv(name_, value, 1);
    }
  }

  const char* const name_;
  std::optional<std::string> before_;
};

std::string Machine() {
  utsname name{};
  REQUIRE(uname(&name) == 0);
  return name.machine;
}

}  // namespace

TEST_CASE("CUDA_HOME is looked at before CUDA_PATH, whichever toolkits they name") {
  const Variable home("CUDA_HOME", "/opt/first");
  const Variable path("CUDA_PATH", "/opt/second");
  CHECK(SystemSearchPlaces({}).cuda_homes == Paths{"/opt/first", "/opt/second"});
}

TEST_CASE("a variable that is unset, empty or relative names no toolkit") {
  const Variable path("CUDA_PATH", "/opt/second");
  for (const char* value : {static_cast<const char*>(nullptr), "", "cuda", "./cuda", "~/cuda"}) {
    const Variable home("CUDA_HOME", value);
    INFO((value == nullptr ? "unset" : value));
    CHECK(SystemSearchPlaces({}).cuda_homes == Paths{"/opt/second"});
  }
}

TEST_CASE("the standard places of this machine are looked at beside the roots") {
  const SearchPlaces places = SystemSearchPlaces({"/opt/root"});
  CHECK(places.roots == Paths{"/opt/root"});
  CHECK(places.toolkit_parents == Paths{"/usr/local"});
  REQUIRE(places.multiarch.size() == 1);
  CHECK(places.multiarch[0].libraries == "/usr/lib/" + Machine() + "-linux-gnu");
  CHECK(places.multiarch[0].headers == "/usr/include");
  CHECK(places.multiarch[0].libdevice ==
        Paths{"/usr/lib/nvidia-cuda-toolkit/libdevice", "/usr/lib/cuda/nvvm/libdevice"});
  CHECK(places.python_prefixes == Paths{"/usr/lib", "/usr/local/lib"});
  CHECK(places.targets.back() == Machine() + "-linux");
}

TEST_CASE("where roots alone are asked for, neither environment nor system is looked at") {
  const Variable home("CUDA_HOME", "/opt/first");
  const SearchPlaces places = GivenSearchPlaces({"/opt/root"});
  CHECK(places.roots == Paths{"/opt/root"});
  CHECK(places.cuda_homes.empty());
  CHECK(places.toolkit_parents.empty());
  CHECK(places.multiarch.empty());
  CHECK(places.python_prefixes.empty());
  CHECK(places.targets == SystemSearchPlaces({}).targets);
}
