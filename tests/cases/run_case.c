/* SPDX-FileCopyrightText: the cccl-cached authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * run_case SOCKET KIND WANTED OUTPUT [WORD VALUE]...
 *
 * Runs one build through the C interface. KIND: nvrtc, link, nvvm. WANTED: the number of the
 * artifact that is written to OUTPUT. The words: `source FILE`, `name NAME`, `option TEXT`,
 * `expression TEXT`, `directory DIRECTORY` (where names are looked up), `next NAME` (of the header,
 * input or module that follows), `header FILE`, `input FILE`, `module FILE`. Prints outcome and key,
 * or the status of what failed. */
#include <cccl_cache/client_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRoom = 64 };

struct request {
  cccl_cache_nvrtc nvrtc;
  cccl_cache_link link;
  cccl_cache_nvvm nvvm;
  cccl_cache_build_options common;
  cccl_cache_bytes options[kRoom], expressions[kRoom], next;
  cccl_cache_header headers[kRoom];
  cccl_cache_link_input inputs[kRoom];
  cccl_cache_nvvm_module modules[kRoom];
};

static cccl_cache_bytes text(const char* word) {
  const cccl_cache_bytes bytes = {word, strlen(word)};
  return bytes;
}

/* Lives as long as the process. */
static cccl_cache_bytes contents(const char* path) {
  FILE* const file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) exit(5);
  const size_t size = (size_t)ftell(file);
  char* const data = malloc(size + 1);
  rewind(file);
  if (data == NULL || fread(data, 1, size, file) != size) exit(5);
  fclose(file);
  const cccl_cache_bytes bytes = {data, size};
  return bytes;
}

static void take(struct request* request, const char* word, const char* value) {
  if (strcmp(word, "source") == 0) {
    request->nvrtc.source = contents(value);
  } else if (strcmp(word, "name") == 0) {
    request->nvrtc.name = text(value);
  } else if (strcmp(word, "option") == 0) {
    request->options[request->nvrtc.option_count++] = text(value);
  } else if (strcmp(word, "expression") == 0) {
    request->expressions[request->nvrtc.name_expression_count++] = text(value);
  } else if (strcmp(word, "directory") == 0) {
    request->common.working_directory = text(value);
  } else if (strcmp(word, "next") == 0) {
    request->next = text(value);
  } else if (strcmp(word, "header") == 0) {
    cccl_cache_header* const header = &request->headers[request->nvrtc.header_count++];
    header->name = request->next;
    header->contents = contents(value);
  } else if (strcmp(word, "input") == 0) {
    cccl_cache_link_input* const input = &request->inputs[request->link.input_count++];
    input->name = request->next;
    input->contents = contents(value);
    input->type = CCCL_CACHE_INPUT_LTOIR;
  } else if (strcmp(word, "module") == 0) {
    cccl_cache_nvvm_module* const module = &request->modules[request->nvvm.module_count++];
    module->name = request->next;
    module->contents = contents(value);
  } else {
    exit(2);
  }
}

static void finish(struct request* request, const cccl_cache_artifact_kind* wanted) {
  request->nvrtc.struct_size = sizeof(request->nvrtc);
  request->link.struct_size = sizeof(request->link);
  request->nvvm.struct_size = sizeof(request->nvvm);
  request->common.struct_size = sizeof(request->common);
  request->nvrtc.options = request->link.options = request->nvvm.options = request->options;
  request->link.option_count = request->nvvm.option_count = request->nvrtc.option_count;
  request->nvrtc.name_expressions = request->expressions;
  request->nvrtc.headers = request->headers;
  request->nvrtc.append_toolchain_headers = 1;
  request->link.inputs = request->inputs;
  request->nvvm.modules = request->modules;
  request->common.wanted = wanted;
  request->common.wanted_count = 1;
}

static cccl_cache_status build(cccl_cache_client* client, const char* kind,
                               const struct request* request, cccl_cache_result** result) {
  if (strcmp(kind, "link") == 0) {
    return cccl_cache_build_link(client, &request->link, &request->common, result, NULL);
  }
  if (strcmp(kind, "nvvm") == 0) {
    return cccl_cache_build_nvvm(client, &request->nvvm, &request->common, result, NULL);
  }
  return cccl_cache_build_nvrtc(client, &request->nvrtc, &request->common, result, NULL);
}

static int report(const cccl_cache_result* result, const char* path) {
  cccl_cache_result_info info = {sizeof(info)};
  cccl_cache_result_describe(result, &info);
  printf("%s %s\n", cccl_cache_outcome_name(info.outcome), info.key.data);
  if (info.artifact_count == 0) return 1;
  cccl_cache_artifact artifact = {sizeof(artifact)};
  cccl_cache_result_artifact(result, 0, &artifact);
  FILE* const file = fopen(path, "wb");
  const int written =
      file != NULL &&
      fwrite(artifact.contents.data, 1, artifact.contents.size, file) == artifact.contents.size &&
      fclose(file) == 0;
  return written ? 0 : 5;
}

int main(int argc, char** argv) {
  static struct request request;
  if (argc < 5 || argc > kRoom || argc % 2 == 0) return 2;
  const cccl_cache_artifact_kind wanted = (cccl_cache_artifact_kind)atoi(argv[3]);
  for (int i = 5; i + 1 < argc; i += 2) take(&request, argv[i], argv[i + 1]);
  finish(&request, &wanted);
  const cccl_cache_open_options options = {sizeof(options), text(argv[1])};
  cccl_cache_client* client = NULL;
  cccl_cache_result* result = NULL;
  if (cccl_cache_open(&options, &client, NULL) != CCCL_CACHE_OK) return 3;
  const cccl_cache_status status = build(client, argv[2], &request, &result);
  int code = 4;
  if (status == CCCL_CACHE_OK) {
    code = report(result, argv[4]);
  } else {
    printf("%s\n", cccl_cache_status_name(status));
  }
  cccl_cache_result_free(result);
  cccl_cache_close(client);
  return code;
}
