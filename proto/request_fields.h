// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "proto/field_numbers.h"

namespace cccl_cache {

// The fields of BuildRequest (build.proto) in the order of their numbers. The decoder in the
// daemon, the encoder in the client and the client's process cache are generated from these
// templates.
//
// `walk` has one function for each type of field. Its arguments are the field's number, the field's
// name for error messages, and the member. The types in request.h and the structs of the C
// interface have members with the same names, so that the templates fit both. `lists` has the
// members that are lists: it is the program itself or, for the C interface, spans over the
// program's pointers and counts.
//
//   Name, Option          a text; each function has its own limit of the length
//   Options               a list of texts
//   SourceText, Contents  contents that a compiler reads as text, or as bytes
//   Number, Flag, Enum, Enums
//   Message, Items        a message, or a list of messages; the last argument walks its fields

template <typename Walk, typename Program, typename Lists>
void WalkNvrtc(Walk& walk, Program& program, Lists& lists) {
  using Field = fields::NvrtcProgram;
  walk.SourceText(Field::kSource, "nvrtc.source", program.source);
  walk.Name(Field::kName, "nvrtc.name", program.name);
  walk.Options(Field::kOptions, "nvrtc.options", lists.options);
  walk.Items(Field::kHeaders, "nvrtc.headers", lists.headers, [](auto& each, auto& header) {
    each.Name(fields::InlineHeader::kName, "nvrtc.headers.name", header.name);
    each.SourceText(fields::InlineHeader::kContents, "nvrtc.headers.contents", header.contents);
  });
  walk.Options(Field::kNameExpressions, "nvrtc.name_expressions", lists.name_expressions);
  walk.Items(Field::kEnvironment, "nvrtc.environment", lists.environment,
             [](auto& each, auto& variable) {
               using Variable = fields::EnvironmentVariable;
               each.Name(Variable::kName, "nvrtc.environment.name", variable.name);
               each.Option(Variable::kValue, "nvrtc.environment.value", variable.value);
             });
  walk.Flag(Field::kAppendToolchainHeaders, program.append_toolchain_headers);
}

template <typename Walk, typename Program, typename Lists>
void WalkLink(Walk& walk, Program&, Lists& lists) {
  using Field = fields::LinkProgram;
  walk.Items(Field::kInputs, "link.inputs", lists.inputs, [](auto& each, auto& input) {
    each.Enum(fields::LinkInput::kType, "link.inputs.type", input.type);
    each.Name(fields::LinkInput::kName, "link.inputs.name", input.name);
    each.Contents(fields::LinkInput::kContents, "link.inputs.contents", input.contents);
  });
  walk.Options(Field::kOptions, "link.options", lists.options);
}

template <typename Walk, typename Program, typename Lists>
void WalkNvvm(Walk& walk, Program& program, Lists& lists) {
  using Field = fields::NvvmProgram;
  walk.Items(Field::kModules, "nvvm.modules", lists.modules, [](auto& each, auto& module) {
    each.Name(fields::NvvmModule::kName, "nvvm.modules.name", module.name);
    each.Contents(fields::NvvmModule::kContents, "nvvm.modules.contents", module.contents);
    each.Flag(fields::NvvmModule::kLazy, module.lazy);
  });
  walk.Options(Field::kOptions, "nvvm.options", lists.options);
  walk.Flag(Field::kAddLibdevice, program.add_libdevice);
}

/// Walks over all fields of BuildRequest except the program.
template <typename Walk, typename Request>
void WalkRequest(Walk& walk, Request& request) {
  using Field = fields::BuildRequest;
  walk.Message(Field::kToolchain, request.toolchain, [](auto& each, auto& selector) {
    each.Name(fields::ToolchainSelector::kId, "toolchain.id", selector.id);
    each.Name(fields::ToolchainSelector::kVersion, "toolchain.version", selector.version);
    each.Number(fields::ToolchainSelector::kMajor, selector.major);
  });
  walk.Number(Field::kDriverVersion, request.driver_version);
  walk.Name(Field::kWorkingDirectory, "working_directory", request.working_directory);
  walk.Number(Field::kMinApiMinor, request.min_api_minor);
  walk.Enums(Field::kWanted, "wanted", request.wanted);
  walk.Message(Field::kFilesView, request.files_view, [](auto& each, auto& view) {
    each.Number(fields::FilesView::kMountNamespace, view.mount_namespace);
    each.Number(fields::FilesView::kRootDevice, view.root_device);
    each.Number(fields::FilesView::kRootInode, view.root_inode);
    each.Number(fields::FilesView::kRootMount, view.root_mount);
  });
  walk.Enum(Field::kPriority, "priority", request.priority);
  walk.Enum(Field::kOnMiss, "on_miss", request.on_miss);
}

}  // namespace cccl_cache
