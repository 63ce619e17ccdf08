// SPDX-FileCopyrightText: the cccl-cached authors
// SPDX-License-Identifier: Apache-2.0
#include "client/src/transport/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <string>

#include "proto/daemons_rights.h"

namespace cccl_cache {
namespace {

// With large windows, an artifact arrives without waits for window updates. With large frames, it
// arrives in one piece, so that it can be received directly into its memory.
constexpr uint32_t kStreamWindow = 16 << 20;
constexpr int32_t kConnectionWindow = 256 << 20;
constexpr uint32_t kFrameSize = (1 << 24) - 1;
// Maximum bytes of data in a frame that is sent. nghttp2 allocates a buffer of this size, even
// though it does not copy the data.
constexpr int32_t kSentFrame = 64 << 10;

nghttp2_nv Field(std::string_view name, std::string_view value) {
  return {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME};
}

// Returns a grpc-timeout, for which gRPC allows at most eight digits.
std::string Timeout(const Deadline& deadline) {
  const int64_t milliseconds = std::clamp<int64_t>(deadline.Remaining().count(), 1, 99'999'999);
  return std::to_string(milliseconds) + 'm';
}

CallEnd FromErrorCode(uint32_t code, bool going_away) {
  switch (code) {
    case NGHTTP2_REFUSED_STREAM:
      return going_away ? CallEnd::kUnsent : CallEnd::kRefused;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return CallEnd::kRefused;
    case NGHTTP2_NO_ERROR:
    case NGHTTP2_PROTOCOL_ERROR:
      return CallEnd::kMalformed;
    default:
      return CallEnd::kLost;
  }
}

std::string_view View(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

struct Http2Session::Callbacks {
  static Http2Session* Self(void* user_data) { return static_cast<Http2Session*>(user_data); }

  static Call* CallOf(void* user_data, int32_t stream_id) {
    Call* call = Self(user_data)->call_;
    return call != nullptr && call->stream_id == stream_id ? call : nullptr;
  }

  static ssize_t OnSend(nghttp2_session*, const uint8_t* data, size_t size, int, void* user_data) {
    Self(user_data)->output_->Copy(View(data, size));
    return static_cast<ssize_t>(size);
  }

  static int OnSendData(nghttp2_session*, nghttp2_frame* frame, const uint8_t* frame_head,
                        size_t size, nghttp2_data_source*, void* user_data) {
    Call* call = CallOf(user_data, frame->hd.stream_id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    constexpr size_t kFrameHead = 9;
    Self(user_data)->output_->Copy(View(frame_head, kFrameHead));
    call->MoveBody(size, Self(user_data)->output_);
    return 0;
  }

  static ssize_t OnReadBody(nghttp2_session*, int32_t stream_id, uint8_t*, size_t room,
                            uint32_t* flags, nghttp2_data_source*, void* user_data) {
    const Call* call = CallOf(user_data, stream_id);
    if (call == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const size_t size = std::min(room, call->unsent());
    if (size == 0 && call->goes_on()) return NGHTTP2_ERR_DEFERRED;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (size == call->unsent() && !call->goes_on()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(size);
  }

  static ssize_t OnBodyLength(nghttp2_session*, uint8_t, int32_t, int32_t session_window,
                              int32_t stream_window, uint32_t frame_size, void*) {
    return std::min({session_window, stream_window, static_cast<int32_t>(frame_size), kSentFrame});
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* user_data) {
    Call* call = CallOf(user_data, frame->hd.stream_id);
    if (call != nullptr) call->AddField(View(name, name_size), View(value, value_size));
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t stream_id, const uint8_t* data, size_t size,
                    void* user_data) {
    Call* call = CallOf(user_data, stream_id);
    if (call != nullptr) call->AddData(View(data, size));
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* user_data) {
    Http2Session* self = Self(user_data);
    if (frame->hd.type == NGHTTP2_SETTINGS) self->established_ = true;
    if (frame->hd.type == NGHTTP2_GOAWAY) self->going_away_ = true;
    const bool carries_stream = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;
    // The call has ended, even if the request was not sent completely: a server may refuse a
    // request before it has read everything.
    if (carries_stream && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      Call* call = CallOf(user_data, frame->hd.stream_id);
      if (call != nullptr) call->End(CallEnd::kAnswered);
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t stream_id, uint32_t code, void* user_data) {
    Call* call = CallOf(user_data, stream_id);
    if (call == nullptr) return 0;
    call->stream_open = false;
    call->End(FromErrorCode(code, Self(user_data)->going_away_));
    return 0;
  }
};

void Http2Session::Deleter::operator()(nghttp2_session* session) const {
  nghttp2_session_del(session);
}

Http2Session::Http2Session() {
  nghttp2_session_callbacks* callbacks = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0) return;
  nghttp2_session_callbacks_set_send_callback(callbacks, Callbacks::OnSend);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, Callbacks::OnSendData);
  nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks,
                                                                 Callbacks::OnBodyLength);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::OnData);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::OnFrame);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::OnStreamClose);
  nghttp2_session* session = nullptr;
  const int made = nghttp2_session_client_new(&session, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  if (made != 0) return;
  session_.reset(session);
  const std::array<nghttp2_settings_entry, 3> settings = {{
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kFrameSize},
  }};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Session::~Http2Session() = default;

void Http2Session::Start(Call* call) {
  const std::string timeout = Timeout(call->deadline());
  const std::array<nghttp2_nv, 9> fields = {
      Field(":method", "POST"),          Field(":scheme", "http"),
      Field(":path", call->path()),      Field(":authority", "localhost"),
      Field("te", "trailers"),           Field("content-type", "application/grpc"),
      Field("user-agent", "cccl-cache"), Field("grpc-timeout", timeout),
      Field(kRightsField, rights_),
  };
  nghttp2_data_provider body = {};
  body.read_callback = Callbacks::OnReadBody;
  call_ = call;
  const int32_t id =
      nghttp2_submit_request(session_.get(), nullptr, fields.data(),
                             fields.size() - (rights_.empty() ? 1 : 0), &body, nullptr);
  // A connection has a limited number of stream ids. If they are used up, the call needs a new
  // connection.
  if (id < 0) {
    going_away_ = true;
    call->End(CallEnd::kUnsent);
  } else {
    rights_.clear();
    call->stream_id = id;
    call->stream_open = true;
  }
}

void Http2Session::Forget() {
  if (call_ != nullptr && call_->stream_open) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, call_->stream_id, NGHTTP2_CANCEL);
  }
  call_ = nullptr;
}

void Http2Session::Ping() { nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr); }

void Http2Session::Resume() {
  // nghttp2 returns an error if it is still sending the body. The error is ignored, because nghttp2
  // then continues by itself.
  if (call_ != nullptr && call_->stream_open) {
    nghttp2_session_resume_data(session_.get(), call_->stream_id);
  }
}

bool Http2Session::Receive(std::string_view bytes) {
  const ssize_t taken = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  return taken == static_cast<ssize_t>(bytes.size());
}

void Http2Session::Send(ByteChain* output) {
  output_ = output;
  // This can only fail if a callback fails, and the callbacks of this class do not.
  nghttp2_session_send(session_.get());
  output_ = nullptr;
}

bool Http2Session::over() const {
  return nghttp2_session_want_read(session_.get()) == 0 &&
         nghttp2_session_want_write(session_.get()) == 0;
}

}  // namespace cccl_cache
