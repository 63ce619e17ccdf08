// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cli/fake_library.h"

#include <unistd.h>

#include "cccl_cache/client.h"

using cccl_cache::View;

struct cccl_cache_error {
  cccl_cache_status status;
  std::string message;
};
struct cccl_cache_client {};
struct cccl_cache_batch {};
struct cccl_cache_json {
  std::string text = FakeAnswer("explain");
};
struct cccl_cache_result {
  const FakeResult fake = Library().builds++ == 1 && Library().second_result
                              ? *Library().second_result
                              : Library().result;
};

FakeLibrary& Library() {
  static FakeLibrary library;
  return library;
}

cccl_cache_status FakeFailure(const std::string& function, cccl_cache_error** error) {
  Library().called = function;
  const auto failure = Library().failures.find(function);
  if (failure == Library().failures.end()) return CCCL_CACHE_OK;
  if (Library().calls_before_failure > 0) {
    --Library().calls_before_failure;
    return CCCL_CACHE_OK;
  }
  *error = new cccl_cache_error{failure->second, function + " failed"};
  return failure->second;
}

namespace {

std::string Text(cccl_cache_bytes bytes) { return std::string(View(bytes)); }

std::string Input(const std::string& type, cccl_cache_bytes name, cccl_cache_bytes contents) {
  return type + " " + Text(name) + "=" + Text(contents);
}

void Note(const cccl_cache_build_options* options) {
  Library().toolchain_major = options->toolchain_major;
  if (options->wanted_count > 0) Library().wanted = options->wanted[0];
}

void NoteOptions(const cccl_cache_bytes* options, size_t count) {
  for (size_t i = 0; i < count; ++i) Library().options.push_back(Text(options[i]));
}

void Note(const cccl_cache_nvrtc* program) {
  Library().source = Text(program->source);
  Library().name = Text(program->name);
  NoteOptions(program->options, program->option_count);
  for (size_t i = 0; i < program->header_count; ++i) {
    const cccl_cache_header& header = program->headers[i];
    Library().inputs.push_back(Input("header", header.name, header.contents));
  }
  for (size_t i = 0; i < program->environment_count; ++i) {
    Library().environment =
        Text(program->environment[i].name) + "=" + Text(program->environment[i].value);
  }
  for (size_t i = 0; i < program->name_expression_count; ++i) {
    Library().name_expressions.push_back(Text(program->name_expressions[i]));
  }
  Library().toolchain_headers = program->append_toolchain_headers != 0;
}

void Note(const cccl_cache_link* program) {
  NoteOptions(program->options, program->option_count);
  for (size_t i = 0; i < program->input_count; ++i) {
    const cccl_cache_link_input& input = program->inputs[i];
    Library().inputs.push_back(Input(std::to_string(input.type), input.name, input.contents));
  }
}

void Note(const cccl_cache_nvvm* program) {
  NoteOptions(program->options, program->option_count);
  Library().libdevice = program->add_libdevice != 0;
  for (size_t i = 0; i < program->module_count; ++i) {
    const cccl_cache_nvvm_module& module = program->modules[i];
    Library().inputs.push_back(
        Input(module.lazy != 0 ? "lazy" : "whole", module.name, module.contents));
  }
}

/// The common part of the functions that compile or explain.
template <typename Program, typename Answer>
cccl_cache_status Ask(const char* function, const Program* program,
                      const cccl_cache_build_options* options, Answer** answer,
                      cccl_cache_error** error) {
  Note(program);
  Note(options);
  const cccl_cache_status failure = FakeFailure(function, error);
  if (failure == CCCL_CACHE_OK) *answer = new Answer;
  return failure;
}

}  // namespace

cccl_cache_status cccl_cache_error_status(const cccl_cache_error* error) { return error->status; }
cccl_cache_bytes cccl_cache_error_message(const cccl_cache_error* error) {
  return FakeBytes(error->message);
}
uint32_t cccl_cache_error_retry_after_ms(const cccl_cache_error*) {
  return Library().retry_after_ms;
}
void cccl_cache_error_free(cccl_cache_error* error) { delete error; }

cccl_cache_status cccl_cache_open(const cccl_cache_open_options* options,
                                  cccl_cache_client** client, cccl_cache_error** error) {
  Library().socket = Text(options->socket);
  Library().fallback = options->fallback;
  Library().process_cache_bytes = options->process_cache_bytes;
  const cccl_cache_status failure = FakeFailure("open", error);
  if (failure == CCCL_CACHE_OK) *client = new cccl_cache_client;
  return failure;
}
cccl_cache_bytes cccl_cache_client_socket(const cccl_cache_client*) {
  return FakeBytes(Library().socket);
}
void cccl_cache_close(cccl_cache_client* client) { delete client; }

cccl_cache_status cccl_cache_build_nvrtc(cccl_cache_client*, const cccl_cache_nvrtc* program,
                                         const cccl_cache_build_options* options,
                                         cccl_cache_result** result, cccl_cache_error** error) {
  return Ask("build_nvrtc", program, options, result, error);
}
cccl_cache_status cccl_cache_build_link(cccl_cache_client*, const cccl_cache_link* program,
                                        const cccl_cache_build_options* options,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  return Ask("build_link", program, options, result, error);
}
cccl_cache_status cccl_cache_build_nvvm(cccl_cache_client*, const cccl_cache_nvvm* program,
                                        const cccl_cache_build_options* options,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  return Ask("build_nvvm", program, options, result, error);
}

cccl_cache_status cccl_cache_batch_open(cccl_cache_client*, cccl_cache_batch** batch,
                                        cccl_cache_error**) {
  *batch = new cccl_cache_batch;
  return CCCL_CACHE_OK;
}
cccl_cache_status cccl_cache_batch_add_nvrtc(cccl_cache_batch*, const cccl_cache_nvrtc*,
                                             const cccl_cache_build_options*, uint64_t,
                                             cccl_cache_error** error) {
  return FakeFailure("batch_add", error);
}
cccl_cache_status cccl_cache_batch_add_link(cccl_cache_batch*, const cccl_cache_link*,
                                            const cccl_cache_build_options*, uint64_t,
                                            cccl_cache_error** error) {
  return FakeFailure("batch_add", error);
}
cccl_cache_status cccl_cache_batch_add_nvvm(cccl_cache_batch*, const cccl_cache_nvvm*,
                                            const cccl_cache_build_options*, uint64_t,
                                            cccl_cache_error** error) {
  return FakeFailure("batch_add", error);
}
cccl_cache_status cccl_cache_batch_next(cccl_cache_batch*, uint32_t, uint64_t*,
                                        cccl_cache_result** result, cccl_cache_error** error) {
  const cccl_cache_status failure = FakeFailure("batch_next", error);
  if (failure == CCCL_CACHE_OK) *result = new cccl_cache_result;
  return failure;
}
void cccl_cache_batch_free(cccl_cache_batch* batch) { delete batch; }

void cccl_cache_result_describe(const cccl_cache_result* given, cccl_cache_result_info* info) {
  const FakeResult& result = given->fake;
  info->outcome = result.outcome;
  info->tier = result.tier;
  info->key = FakeBytes(result.key);
  info->log = FakeBytes(result.log);
  info->reason = FakeBytes(result.reason);
  info->hint = FakeBytes(result.hint);
  info->artifact_count = result.artifacts.size();
  info->lowered_name_count = result.lowered_names.size();
}
void cccl_cache_result_artifact(const cccl_cache_result* result, size_t index,
                                cccl_cache_artifact* artifact) {
  static const std::string digest = "\x01\xfe";
  artifact->kind = result->fake.artifacts[index].first;
  artifact->contents = FakeBytes(result->fake.artifacts[index].second);
  artifact->sha256 = FakeBytes(digest);
}
void cccl_cache_result_lowered_name(const cccl_cache_result* result, size_t index,
                                    cccl_cache_lowered_name* name) {
  name->expression = FakeBytes(result->fake.lowered_names[index].first);
  name->lowered = FakeBytes(result->fake.lowered_names[index].second);
}
void cccl_cache_result_free(cccl_cache_result* result) { delete result; }
cccl_cache_status cccl_cache_explain_nvrtc(cccl_cache_client*, const cccl_cache_nvrtc* program,
                                           const cccl_cache_build_options* options,
                                           cccl_cache_json** answer, cccl_cache_error** error) {
  return Ask("explain_nvrtc", program, options, answer, error);
}
cccl_cache_status cccl_cache_explain_link(cccl_cache_client*, const cccl_cache_link* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_json** answer, cccl_cache_error** error) {
  return Ask("explain_link", program, options, answer, error);
}
cccl_cache_status cccl_cache_explain_nvvm(cccl_cache_client*, const cccl_cache_nvvm* program,
                                          const cccl_cache_build_options* options,
                                          cccl_cache_json** answer, cccl_cache_error** error) {
  return Ask("explain_nvvm", program, options, answer, error);
}

cccl_cache_status cccl_cache_query(cccl_cache_client*, const char* question,
                                   const cccl_cache_query_options* options,
                                   cccl_cache_json** answer, cccl_cache_error** error) {
  Library().arguments.clear();
  for (size_t i = 0; i < options->argument_count; ++i) {
    Library().arguments.push_back(Text(options->arguments[i]));
  }
  const cccl_cache_status failure = FakeFailure(question, error);
  if (failure != CCCL_CACHE_OK) return failure;
  *answer = new cccl_cache_json{FakeAnswer(question)};
  if (options->progress != nullptr) {
    options->progress(FakeBytes((*answer)->text), options->context);
  }
  return CCCL_CACHE_OK;
}
cccl_cache_bytes cccl_cache_json_text(const cccl_cache_json* answer) {
  return FakeBytes(answer->text);
}
void cccl_cache_json_free(cccl_cache_json* answer) { delete answer; }
