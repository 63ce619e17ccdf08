// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "cccl_cache/graph.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/client/driver_scene.h"

namespace graph_test {

using cccl_cache::Driver;
using cccl_cache::Expected;
using cccl_cache::LoadedKernels;
using namespace cccl_cache::graph;  // NOLINT: this test is about it

namespace {

/// The kernels of the fake driver, loaded.
std::shared_ptr<const LoadedKernels> Kernels() {
  return std::make_shared<LoadedKernels>(
      *LoadedKernels::Load(*Driver::Open(), Built(HitWithCubin("image with add and multiply"))));
}

std::shared_ptr<KernelNode> Add(int* to, int value, Nodes deps = {}) {
  return std::make_shared<KernelNode>(Launch{}, Kernels(), "add", std::vector<Argument>{to, value},
                                      std::move(deps));
}

Graph Built(const Nodes& ends) { return *Graph::Build(*Driver::Open(), ends); }

std::string Refusal(const Nodes& ends) {
  const Expected<Graph> graph = Graph::Build(*Driver::Open(), ends);
  return graph.ok() ? "" : graph.error().message;
}

bool Mentions(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("nodes reach the driver with their values, and run in the order of their dependencies") {
  FakeDriver& fake = Fake();
  double host = 2;
  double device = 0;
  double back = 0;
  double seen = 0;
  auto up = std::make_shared<MemcpyHtoDNode>(&device, &host, sizeof(double));
  auto kernel =
      std::make_shared<KernelNode>(Launch{{2, 1, 1}, {4, 2, 1}, 64}, Kernels(), "multiply",
                                   std::vector<Argument>{&device, 3.0f, char{2}}, Nodes{up});
  auto down = std::make_shared<MemcpyDtoHNode>(&back, &device, sizeof(double), Nodes{kernel});
  Graph graph = Built({std::make_shared<HostNode>([&] { seen = back; }, Nodes{down})});
  std::erase_if(fake.calls, [](const std::string& call) { return call.find("add ") != 0; });
  CHECK(fake.calls == std::vector<std::string>{
                          "add copy 8 host to device",
                          "add kernel multiply grid 2x1x1 block 4x2x1 shared 64",
                          "add copy 8 device to host",
                          "add host",
                      });
  REQUIRE(graph.Launch().ok());
  CHECK(seen == 18);
  host = 1;
  REQUIRE(graph.Launch().ok());
  CHECK(seen == 9);
}

TEST_CASE("a node with several dependents is added once, and a join waits for all nodes") {
  FakeDriver& fake = Fake();
  int left = 7;
  int right = 7;
  auto start = std::make_shared<EmptyNode>();
  auto clear_left = std::make_shared<MemsetNode>(&left, 4, 0x01020304, Nodes{start}, 4);
  auto clear_right = std::make_shared<MemsetNode>(&right, 4, 0, Nodes{start, start});
  auto joined = std::make_shared<EmptyNode>(
      Nodes{Add(&left, 1, {clear_left}), Add(&right, 5, {clear_right})});
  Graph graph = Built({std::make_shared<MemcpyNode>(&right, &left, 4, Nodes{joined}), clear_left});
  REQUIRE(graph.Launch().ok());
  CHECK(left == 0x01020305);
  CHECK(right == left);
  const auto said = [&](const char* call) {
    return std::count(fake.calls.begin(), fake.calls.end(), call);
  };
  CHECK(said("add empty") == 2);
  CHECK(said("add memset 1 elements of 4") == 1);
  CHECK(said("add memset 4 elements of 1") == 1);
  CHECK(said("add copy 4 unified to unified") == 1);
}

TEST_CASE("changes to a node apply at the next build or update") {
  FakeDriver& fake = Fake();
  int value = 0;
  auto first = Add(&value, 1);
  auto second = Add(&value, 10);
  second->deps.push_back(first);
  first->args[1] = 2;
  Graph graph = Built({second});
  REQUIRE(graph.Launch().ok());
  CHECK(value == 12);
  second->args[1] = 100;
  REQUIRE(graph.Update().ok());
  REQUIRE(graph.Launch().ok());
  CHECK(value == 114);
  second->launch.block = {5, 1, 1};
  REQUIRE(graph.Update({second}).ok());
  REQUIRE(graph.Launch().ok());
  CHECK(value == 616);
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "update") == 2);
}

TEST_CASE("an update to another shape is refused, and the graph stays as it was") {
  Fake();
  int value = 0;
  auto first = Add(&value, 1);
  auto second = Add(&value, 10);
  Graph graph = Built({first, second});
  REQUIRE(graph.Launch().ok());
  second->deps.push_back(first);
  const auto refused = graph.Update();
  REQUIRE_FALSE(refused.ok());
  CHECK(Mentions(refused.error().message, "build a new graph"));
  REQUIRE(graph.Launch().ok());
  CHECK(value == 22);
}

TEST_CASE("Destroy waits for launches and frees all resources; later launches are errors") {
  FakeDriver& fake = Fake();
  int value = 0;
  auto called = std::make_shared<int>(0);
  const std::weak_ptr<int> held = called;
  auto node = std::make_shared<HostNode>([called = std::move(called)] { ++*called; });
  Graph graph = Built({Add(&value, 1, {node})});
  node.reset();
  REQUIRE(graph.Launch().ok());
  REQUIRE(graph.Update().ok());
  REQUIRE(graph.Launch().ok());
  REQUIRE_FALSE(held.expired());
  CHECK(fake.graphs == 3);
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "unload library") == 0);
  graph.Destroy();
  CHECK(fake.calls.back() == "unload library");
  CHECK(std::count(fake.calls.begin(), fake.calls.end(), "wait") == 1);
  CHECK(held.expired());
  CHECK(fake.graphs == 0);
  graph.Destroy();
  CHECK(Mentions(graph.Launch().error().message, "destroyed"));
  CHECK(Mentions(graph.Instantiate().error().message, "destroyed"));
  CHECK(Mentions(graph.Update().error().message, "destroyed"));
}

TEST_CASE("a graph that was moved is destroyed once") {
  FakeDriver& fake = Fake();
  int value = 0;
  {
    Graph one = Built({Add(&value, 1)});
    Graph other = std::move(one);
    one = Built({Add(&value, 10)});
    REQUIRE(other.Launch().ok());
    other = std::move(one);
    REQUIRE(other.Launch().ok());
  }
  CHECK(value == 11);
  CHECK(fake.graphs == 0);
}

TEST_CASE("nodes that can't be built are refused with the reason") {
  FakeDriver& fake = Fake();
  int value = 0;
  auto one = std::make_shared<EmptyNode>();
  auto two = std::make_shared<EmptyNode>(Nodes{one});
  auto behind = Add(&value, 1, {two});
  one->deps.push_back(two);
  CHECK(Refusal({behind}) ==
        "nodes depend on each other in a circle: EmptyNode -> EmptyNode -> EmptyNode");
  one->deps = {nullptr};
  CHECK(Mentions(Refusal({one}), "null pointer"));
  one->deps.clear();
  CHECK(Mentions(Refusal({}), "no node"));

  const auto with = [](std::vector<Argument> args) {
    return Refusal({std::make_shared<KernelNode>(Launch{}, Kernels(), "add", std::move(args))});
  };
  CHECK(with({&value, 1}).empty());
  CHECK(Mentions(with({&value, int64_t{1}}), "argument 1 is 8 bytes wide, and the kernel takes 4"));
  CHECK(Mentions(with({&value}), "add takes 2 arguments, and the node has 1"));
  CHECK(Mentions(with({&value, 1, 2}), "the node has 3"));
  fake.host_memory = reinterpret_cast<uint64_t>(&value);  // NOLINT
  CHECK(Mentions(with({&value, 1}), "argument 0 points to memory of the host"));
  CHECK(Mentions(
      Refusal({std::make_shared<KernelNode>(Launch{}, Kernels(), "gone", std::vector<Argument>{})}),
      "no kernel gone"));

  const auto filled = [&](unsigned element, size_t bytes, unsigned element_bytes) {
    return Refusal({std::make_shared<MemsetNode>(&value, bytes, element, Nodes{}, element_bytes)});
  };
  CHECK(filled(255, 4, 1).empty());
  CHECK(Mentions(filled(256, 4, 1), "does not fit"));
  CHECK(Mentions(filled(0, 4, 3), "1, 2 or 4"));
  CHECK(Mentions(filled(0, 3, 2), "no elements"));
  fake.context = false;
  CHECK(Mentions(Refusal({one}), "context"));
  CHECK(fake.graphs == 0);
}

}  // namespace graph_test
