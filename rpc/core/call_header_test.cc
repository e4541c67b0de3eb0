#include "rpc/core/call_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "rpc/core/test_bytes.h"

namespace verbena::rpc {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

Bytes Encoded(const RequestHeader& header) {
  Bytes bytes(EncodedBytes(header));
  const absl::StatusOr<size_t> size = EncodeRequestHeader(header, absl::MakeSpan(bytes));
  EXPECT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(*size, bytes.size());
  return bytes;
}

Bytes Encoded(const ResponseHeader& header) {
  Bytes bytes(EncodedBytes(header));
  const absl::StatusOr<size_t> size = EncodeResponseHeader(header, absl::MakeSpan(bytes));
  EXPECT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(*size, bytes.size());
  return bytes;
}

std::string RequestError(const Bytes& bytes, uint64_t payload_bytes = kMax) {
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(bytes, payload_bytes);
  return header.ok() ? "no error" : std::string(header.status().message());
}

std::string ResponseError(const Bytes& bytes, uint64_t payload_bytes = kMax) {
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(bytes, payload_bytes);
  return header.ok() ? "no error" : std::string(header.status().message());
}

TEST(RequestHeader, EverythingComesBack) {
  const Bytes fields = BytesOf(absl::string_view("\x99\x00\x01\x00x", 5));
  const Bytes bytes = Encoded(RequestHeader{"demo.Greeter/SayHello", kMax, 5, fields});
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(bytes, 5);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->method, "demo.Greeter/SayHello");
  EXPECT_EQ(header->timeout_ns, kMax);
  EXPECT_EQ(header->body_bytes, 5u);
  EXPECT_EQ(header->fields, absl::MakeConstSpan(fields));
}

TEST(RequestHeader, CutAnywhereIsRejected) {
  const Bytes fields = BytesOf(absl::string_view("\x99\x00\x01\x00x", 5));
  const Bytes whole = Encoded(RequestHeader{"S/M", 0, 0, fields});
  for (size_t length = 0; length < whole.size(); ++length) {
    const size_t without_fields = whole.size() - fields.size();
    EXPECT_EQ(DecodeRequestHeader(absl::MakeConstSpan(whole).first(length), 0).ok(), length == without_fields)
        << length;
  }
}

TEST(RequestHeader, BodyBeyondThePayloadIsRejectedInWords) {
  EXPECT_EQ(RequestError(Encoded(RequestHeader{"S/M", 0, 9, {}}), 8),
            "a call header says that 9 bytes of a payload of 8 are the body");
}

TEST(RequestHeader, OtherVersionIsRejectedInWords) {
  Bytes bytes = Encoded(RequestHeader{"S/M", 0, 0, {}});
  bytes[0] = std::byte{2};
  EXPECT_EQ(RequestError(bytes), "a request header has version 2; this side speaks 1");
}

TEST(RequestHeader, ReservedBitsAreRejected) {
  for (size_t at : {4, 5, 6, 7}) {
    Bytes bytes = Encoded(RequestHeader{"S/M", 0, 0, {}});
    bytes[at] = std::byte{1};
    EXPECT_EQ(RequestError(bytes), "a request header has reserved bits set") << at;
  }
}

TEST(RequestHeader, CarriesTheKindOfItsMethod) {
  for (uint8_t kind = 0; kind <= kMethodKindMax; ++kind) {
    const Bytes bytes = Encoded(RequestHeader{"S/M", 0, 0, {}, static_cast<MethodKind>(kind)});
    EXPECT_EQ(DecodeRequestHeader(bytes, 0)->kind, static_cast<MethodKind>(kind));
  }
}

TEST(RequestHeader, OfAnUnknownKindIsRejectedInWords) {
  Bytes bytes = Encoded(RequestHeader{"S/M", 0, 0, {}});
  bytes[1] = std::byte{4};
  EXPECT_EQ(RequestError(bytes), "a request is of the unknown kind 4");
}

TEST(RequestHeader, AKnownMethodIsDecodedInItsOwnMemoryAndAnotherIsLookedAt) {
  const std::string known = "S/M";
  const Bytes same = Encoded(RequestHeader{"S/M", 0, 0, {}});
  EXPECT_EQ(DecodeRequestHeader(same, 0, known)->method.data(), known.data());
  const Bytes other = Encoded(RequestHeader{"S/N", 0, 0, {}});
  EXPECT_EQ(DecodeRequestHeader(other, 0, known)->method, "S/N");
  Bytes room(64);
  EXPECT_TRUE(EncodeRequestHeader(RequestHeader{"S/M", 0, 0, {}}, absl::MakeSpan(room), known).ok());
  EXPECT_FALSE(EncodeRequestHeader(RequestHeader{"S M", 0, 0, {}}, absl::MakeSpan(room), known).ok());
  EXPECT_FALSE(EncodeRequestHeader(RequestHeader{"", 0, 0, {}}, absl::MakeSpan(room), "").ok());
}

TEST(RequestHeader, MethodMustBeAName) {
  Bytes room(1024);
  for (absl::string_view method : {"", "with space", "line\nfeed", "\x7f", "\xc3\xa4"}) {
    EXPECT_FALSE(EncodeRequestHeader(RequestHeader{method, 0, 0, {}}, absl::MakeSpan(room)).ok()) << method;
  }
  Bytes bytes = Encoded(RequestHeader{"S/M", 0, 0, {}});
  bytes[kRequestHeaderFixedBytes] = std::byte{'\n'};
  EXPECT_THAT(RequestError(bytes), HasSubstr("not printable ASCII"));
}

TEST(RequestHeader, EveryByteOfAMethodIsCheckedWhereverItStands) {
  Bytes room(1024);
  for (const size_t length : {1, 7, 8, 9, 16, 19}) {
    for (size_t at = 0; at < length; ++at) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string method(length, '~');
        method[at] = static_cast<char>(byte);
        const bool printable = byte > ' ' && byte <= '~';
        EXPECT_EQ(EncodeRequestHeader(RequestHeader{method, 0, 0, {}}, absl::MakeSpan(room)).ok(), printable)
            << byte << " at " << at << " of " << length;
      }
    }
  }
}

TEST(RequestHeader, LongestMethodIsKMethodBytesMax) {
  Bytes room(1024);
  const std::string longest(kMethodBytesMax, 'm');
  EXPECT_TRUE(EncodeRequestHeader(RequestHeader{longest, 0, 0, {}}, absl::MakeSpan(room)).ok());
  const std::string too_long(kMethodBytesMax + 1, 'm');
  EXPECT_FALSE(EncodeRequestHeader(RequestHeader{too_long, 0, 0, {}}, absl::MakeSpan(room)).ok());
}

TEST(RequestHeader, ThatDoesNotFitLeavesTheRoomUnchanged) {
  Bytes room(26, std::byte{0xaa});
  const absl::StatusOr<size_t> size = EncodeRequestHeader(RequestHeader{"S/M", 0, 0, {}}, absl::MakeSpan(room));
  EXPECT_EQ(size.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(size.status().message(), "the call header takes 27 bytes; the connection has room for 26");
  EXPECT_EQ(room, Bytes(26, std::byte{0xaa}));
}

TEST(RequestHeader, BrokenFieldsAreNotSent) {
  Bytes room(100);
  EXPECT_FALSE(EncodeRequestHeader(RequestHeader{"S/M", 0, 0, BytesOf("abc")}, absl::MakeSpan(room)).ok());
}

TEST(ResponseHeader, EverythingComesBack) {
  const Bytes fields = BytesOf(absl::string_view("\x99\x00\x01\x00x", 5));
  const Bytes bytes =
      Encoded(ResponseHeader{absl::StatusCode::kUnauthenticated, Certainty::kNotSent, "who?", 7, fields});
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(bytes, 8);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->code, absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(header->certainty, Certainty::kNotSent);
  EXPECT_EQ(header->message, "who?");
  EXPECT_EQ(header->body_bytes, 7u);
  EXPECT_EQ(header->fields, absl::MakeConstSpan(fields));
}

TEST(ResponseHeader, OkIsTheFixedPartAlone) {
  const Bytes bytes = Encoded(ResponseHeader{});
  EXPECT_EQ(bytes.size(), kResponseHeaderFixedBytes);
  EXPECT_TRUE(DecodeResponseHeader(bytes, 0).ok());
}

TEST(ResponseHeader, CutAnywhereIsRejected) {
  const Bytes whole = Encoded(ResponseHeader{absl::StatusCode::kInternal, Certainty::kExecuted, "words", 0, {}});
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(DecodeResponseHeader(absl::MakeConstSpan(whole).first(length), 0).ok()) << length;
  }
}

TEST(ResponseHeader, OkMustNotContradictItself) {
  Bytes room(100);
  ResponseHeader ok;
  ok.message = "no";
  EXPECT_FALSE(EncodeResponseHeader(ok, absl::MakeSpan(room)).ok());
  Bytes bytes = Encoded(ResponseHeader{});
  bytes[2] = std::byte{0};
  EXPECT_EQ(ResponseError(bytes), "an OK response says that the call was not executed");
}

TEST(ResponseHeader, OfAnOkWithoutFieldsIsWrittenAsAnyOther) {
  ResponseHeader header;
  header.body_bytes = 77;
  Bytes room(kResponseHeaderFixedBytes, std::byte{0xff});
  EXPECT_EQ(EncodeOkResponseHeader(77, absl::MakeSpan(room)), room.size());
  EXPECT_EQ(room, Encoded(header));
}

TEST(ResponseHeader, UnknownCodesAreRejectedInWords) {
  Bytes bytes = Encoded(ResponseHeader{});
  bytes[1] = std::byte{17};
  EXPECT_EQ(ResponseError(bytes), "a response has the unknown status code 17");
  bytes[1] = std::byte{5};
  bytes[2] = std::byte{3};
  EXPECT_EQ(ResponseError(bytes), "a response has the unknown certainty 3");
}

TEST(ResponseHeader, ReservedBitsAreRejected) {
  for (size_t at : {3, 6, 7}) {
    Bytes bytes = Encoded(ResponseHeader{});
    bytes[at] = std::byte{1};
    EXPECT_EQ(ResponseError(bytes), "a response header has reserved bits set") << at;
  }
}

TEST(ResponseHeader, BodyBeyondThePayloadIsRejected) {
  ResponseHeader header;
  header.body_bytes = 1;
  EXPECT_EQ(ResponseError(Encoded(header), 1), "no error");
  EXPECT_THAT(ResponseError(Encoded(header), 0), HasSubstr("1 bytes of a payload of 0"));
}

}  // namespace
}  // namespace verbena::rpc
