// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cccl_cache/driver.h"
#include "cccl_cache/expected.h"
#include "cccl_cache/graph_nodes.h"

struct CUevent_st;
struct CUgraphExec_st;
struct CUstream_st;

/// CUDA graphs with kernels that this library built. Header-only. Requires the driver API of CUDA
/// 12.0 or later, which is opened at run time.
namespace cccl_cache::graph {

namespace internal {

/// Owns a handle of the driver. The destructor passes the handle to the driver function with the
/// name `destroy`.
template <typename T>
class Owned {
 public:
  Owned(const Driver& driver, const char* destroy) : driver_(driver), destroy_(destroy) {}
  Owned(Owned&& other) noexcept
      : driver_(other.driver_),
        destroy_(other.destroy_),
        handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(destroy_, other.destroy_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Reset(); }

  void Reset() {
    if (handle_ != nullptr)
      static_cast<void>(driver_.Call(destroy_, std::exchange(handle_, nullptr)));
  }
  [[nodiscard]] T* get() const { return handle_; }
  /// Returns the address at which a driver function can store a handle.
  [[nodiscard]] T** place() { return &handle_; }

 private:
  Driver driver_;
  const char* destroy_;
  T* handle_ = nullptr;
};

/// A graph of the driver, with the objects that must live as long as it.
struct Definition {
  Owned<CUgraph_st> graph;
  Nodes nodes;  // each node after its dependencies
  // The kernels and functions that the driver uses while the graph runs.
  std::vector<std::shared_ptr<const void>> kept;
  // The kind of each node, and the indices of its dependencies. An update can't change them.
  std::vector<std::pair<std::string, std::vector<size_t>>> shape;
};

enum class Mark : uint8_t { kEntered, kDone };
using Marks = std::unordered_map<const Node*, Mark>;

/// Appends a node and all its dependencies to `order`, each node after its own dependencies. Skips
/// nodes that are in `marks`. CCCL_CACHE_INVALID_REQUEST: null, or the dependencies form a circle.
inline Expected<Done> AddInOrder(const std::shared_ptr<Node>& end, Marks& marks, Nodes& order) {
  struct Step {
    std::shared_ptr<Node> node;
    size_t next = 0;
  };
  std::vector<Step> path;
  std::shared_ptr<Node> following = end;
  while (true) {
    if (following == nullptr) return Invalid("a null pointer is given where a node is wanted");
    if (const auto mark = marks.find(following.get()); mark == marks.end()) {
      marks[following.get()] = Mark::kEntered;
      path.push_back({following});
    } else if (mark->second == Mark::kEntered) {
      std::string circle;
      const auto begin = std::find_if(path.begin(), path.end(),
                                      [&](const Step& step) { return step.node == following; });
      for (auto step = begin; step != path.end(); ++step)
        circle += std::string(step->node->name()) + " -> ";
      return Invalid("nodes depend on each other in a circle: " + circle + following->name());
    }
    while (!path.empty() && path.back().next == path.back().node->deps.size()) {
      marks[path.back().node.get()] = Mark::kDone;
      order.push_back(std::move(path.back().node));
      path.pop_back();
    }
    if (path.empty()) return Done{};
    following = path.back().node->deps[path.back().next++];
  }
}

inline Expected<Done> Connect(const Driver& driver, Definition& definition,
                              const std::vector<CUgraphNode_st*>& added) {
  std::unordered_map<const Node*, size_t> places;
  std::vector<CUgraphNode_st*> from;
  std::vector<CUgraphNode_st*> to;
  for (size_t i = 0; i < added.size(); ++i) {
    places[definition.nodes[i].get()] = i;
    std::vector<size_t> before;
    for (const auto& each : definition.nodes[i]->deps) before.push_back(places[each.get()]);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const size_t place : before) {
      from.push_back(added[place]);
      to.push_back(added[i]);
    }
    definition.shape.emplace_back(definition.nodes[i]->name(), std::move(before));
  }
  if (from.empty()) return Done{};
  return driver.Call("cuGraphAddDependencies", definition.graph.get(), from.data(), to.data(),
                     from.size());
}

inline Expected<Definition> Define(const Driver& driver, const Nodes& ends) {
  Definition definition{Owned<CUgraph_st>(driver, "cuGraphDestroy"), {}, {}, {}};
  Marks marks;
  Expected<Done> done =
      ends.empty() ? Expected<Done>(Invalid("there is no node to build")) : Done{};
  for (size_t i = 0; done.ok() && i < ends.size(); ++i)
    done = AddInOrder(ends[i], marks, definition.nodes);
  CUctx_st* context = nullptr;
  if (done.ok()) done = driver.Call("cuCtxGetCurrent", &context);
  if (done.ok() && context == nullptr)
    done = Invalid("make a CUDA context current before you build a graph");
  if (done.ok()) done = driver.Call("cuGraphCreate", definition.graph.place(), 0u);
  std::vector<CUgraphNode_st*> added;
  for (size_t i = 0; done.ok() && i < definition.nodes.size(); ++i) {
    const Node& node = *definition.nodes[i];
    const Expected<CUgraphNode_st*> made = node.AddTo({driver, definition.graph.get(), context});
    if (!made.ok()) return made.error();
    added.push_back(*made);
    if (const auto* kernel = dynamic_cast<const KernelNode*>(&node))
      definition.kept.push_back(kernel->kernels);
    if (const auto* host = dynamic_cast<const HostNode*>(&node))
      definition.kept.push_back(host->function);
  }
  if (done.ok()) done = Connect(driver, definition, added);
  if (!done.ok()) return done.error();
  return definition;
}

}  // namespace internal

/// A CUDA graph. It keeps its kernels loaded and its host functions alive. The program owns the
/// memory that the nodes use. Use it on one thread at a time.
class Graph {
 public:
  /// Makes a graph of these nodes and all their dependencies. The program must have made a context
  /// current. The graph copies the nodes, so the program may change and build them again later.
  /// CCCL_CACHE_INVALID_REQUEST: the dependencies form a circle, or an argument of a kernel has the
  /// wrong size or points to host memory that the kernel can't access.
  static Expected<Graph> Build(const Driver& driver, const Nodes& ends) {
    Expected<internal::Definition> definition = internal::Define(driver, ends);
    if (!definition.ok()) return definition.error();
    return Graph(driver, *std::move(definition), ends);
  }

  Graph(Graph&&) noexcept = default;
  Graph& operator=(Graph&& other) noexcept {
    if (this != &other) {
      Destroy();
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  ~Graph() { Destroy(); }

  /// Makes the graph executable.
  Expected<Done> Instantiate() {
    if (!definition_) return Destroyed();
    executable_.Reset();
    return driver_.Call("cuGraphInstantiateWithFlags", executable_.place(),
                        definition_->graph.get(), 0ull);
  }

  /// Launches the graph and does not wait for its end. The first launch also instantiates the
  /// graph.
  Expected<Done> Launch(CUstream_st* stream = nullptr) {
    if (!definition_) return Destroyed();
    Expected<Done> done = executable_.get() != nullptr ? Done{} : Instantiate();
    if (done.ok()) done = driver_.Call("cuGraphLaunch", executable_.get(), stream);
    constexpr unsigned kWithoutTiming = 2;
    if (done.ok() && launched_.get() == nullptr) {
      done = driver_.Call("cuEventCreate", launched_.place(), kWithoutTiming);
    }
    if (done.ok()) done = driver_.Call("cuEventRecord", launched_.get(), stream);
    return done;
  }

  /// Changes the graph to the current arguments, sizes and kernels of the nodes, without another
  /// instantiation. `ends`: the nodes of the new graph; empty: the nodes from which the graph was
  /// built. After an error the graph is unchanged. CCCL_CACHE_INVALID_REQUEST: as for Build, or the
  /// kinds of the nodes or their dependencies differ.
  Expected<Done> Update(const Nodes& ends = {}) {
    if (!definition_) return Destroyed();
    Expected<internal::Definition> made = internal::Define(driver_, ends.empty() ? ends_ : ends);
    if (!made.ok()) return made.error();
    if (made->shape != definition_->shape) {
      return internal::Invalid(
          "an update changes what nodes do, not which there are or what they depend on: build a "
          "new graph");
    }
    if (executable_.get() != nullptr) {
      UpdateResult result;
      const Expected<Done> done =
          driver_.Call("cuGraphExecUpdate_v2", executable_.get(), made->graph.get(), &result);
      if (!done.ok()) return done.error();
    }
    std::erase_if(earlier_, [this](const Earlier& each) {
      return driver_.Call("cuEventQuery", each.launched.get()).ok();
    });
    if (launched_.get() != nullptr) {
      earlier_.push_back({std::move(definition_), std::exchange(launched_, Event(driver_))});
    }
    definition_ = std::make_unique<internal::Definition>(*std::move(made));
    if (!ends.empty()) ends_ = ends;
    return Done{};
  }

  /// Waits until the last launch has ended, and frees the graph. A second call does nothing.
  void Destroy() {
    if (!definition_) return;
    if (launched_.get() != nullptr)
      static_cast<void>(driver_.Call("cuEventSynchronize", launched_.get()));
    executable_.Reset();
    launched_.Reset();
    earlier_.clear();
    definition_.reset();
    ends_.clear();
  }

 private:
  using OwnedEvent = internal::Owned<CUevent_st>;
  // Has the layout of CUgraphExecUpdateResultInfo.
  struct UpdateResult {
    int result = 0;
    CUgraphNode_st* node = nullptr;
    CUgraphNode_st* from = nullptr;
  };
  // A definition that an update has replaced. It is kept until the launches before that update have
  // ended.
  struct Earlier {
    std::unique_ptr<internal::Definition> definition;
    OwnedEvent launched;
  };

  Graph(const Driver& driver, internal::Definition definition, Nodes ends)
      : driver_(driver),
        definition_(std::make_unique<internal::Definition>(std::move(definition))),
        ends_(std::move(ends)),
        executable_(driver, "cuGraphExecDestroy"),
        launched_(Event(driver)) {}

  static OwnedEvent Event(const Driver& driver) { return {driver, "cuEventDestroy_v2"}; }
  static Error Destroyed() {
    return internal::Invalid("the graph was destroyed: build its nodes again");
  }

  Driver driver_;
  std::unique_ptr<internal::Definition> definition_;  // null after Destroy
  Nodes ends_;
  internal::Owned<CUgraphExec_st> executable_;
  OwnedEvent launched_;  // event after the last launch; null: none
  std::vector<Earlier> earlier_;
};

}  // namespace cccl_cache::graph
