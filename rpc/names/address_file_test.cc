#include "rpc/names/address_file.h"

#include <gtest/gtest.h>

#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

TEST(AddressFile, AddressesWeightsAndCommentsAreRead) {
  EXPECT_EQ(InWords(ParseAddressFile("# ours\na:1\n\n  b:2\t3  # the big one\r\nsoft://[::1]:4")),
            "a:1 b:2*3 soft://[::1]:4");
}

TEST(AddressFile, FirstWrongLineIsNamed) {
  EXPECT_EQ(InWords(ParseAddressFile("a:1\n# b\nc\nd")),
            "INVALID_ARGUMENT: line 3: \"c\": the port is missing; write host:port");
  EXPECT_EQ(InWords(ParseAddressFile("a:1 0")),
            "INVALID_ARGUMENT: line 1: \"0\": the weight is not a number from 1 to 1000000");
  EXPECT_EQ(InWords(ParseAddressFile("a:1 2 3")), "INVALID_ARGUMENT: line 1: more than an address and a weight");
}

TEST(AddressFile, NoServerIsAnError) {
  EXPECT_EQ(InWords(ParseAddressFile("# nobody\n")), "INVALID_ARGUMENT: it names no server");
}

}  // namespace
}  // namespace verbena::rpc
