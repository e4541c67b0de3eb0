#include "transport/verbs/verbs_api.h"

#include <gtest/gtest.h>

#include <cstring>

#include "transport/verbs/device_list.h"

namespace verbena::verbs {
namespace {

// The table is a name and then nothing but function pointers, so a forgotten entry shows as a null one.
TEST(RdmaCoreApi, EveryEntryIsFilled) {
  using Entry = void (*)();
  static_assert(sizeof(VerbsApi) % sizeof(Entry) == 0);
  constexpr size_t kEntries = sizeof(VerbsApi) / sizeof(Entry);
  Entry entries[kEntries];
  memcpy(entries, &RdmaCoreApi(), sizeof(entries));
  for (size_t i = 0; i < kEntries; ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

TEST(RdmaCoreApi, ListsDevicesOrNoneButDoesNotFail) {
  absl::StatusOr<DeviceList> list = DeviceList::Read(RdmaCoreApi());
  EXPECT_TRUE(list.ok()) << list.status();
}

}  // namespace
}  // namespace verbena::verbs
