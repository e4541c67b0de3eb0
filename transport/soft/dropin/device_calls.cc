// libibverbs: devices, their attributes and their events.

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstring>

#include "transport/soft/c_boundary.h"
#include "transport/soft/control_path.h"

// Macros of the header over the exported functions of these names.
#undef ibv_get_device_list
#undef ibv_query_port

using namespace verbena::soft;

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  return OrNull([=] { return GetDeviceList(count); });
}

void ibv_free_device_list(ibv_device** list) {
  OrNothing([=] { FreeDeviceList(list); });
}

const char* ibv_get_device_name(ibv_device* device) { return GetDeviceName(device); }

// The kernel, which numbers devices, knows none.
int ibv_get_device_index(ibv_device* device) { return -1; }

__be64 ibv_get_device_guid(ibv_device* device) { return GetDeviceGuid(device); }

ibv_context* ibv_open_device(ibv_device* device) {
  return OrNull([=] { return OpenDevice(device); });
}

int ibv_close_device(ibv_context* context) {
  return OrMinusOne([=] { return CloseDevice(context); });
}

int ibv_query_device(ibv_context* context, ibv_device_attr* attributes) {
  return OrErrno([=] { return QueryDevice(context, attributes); });
}

// The caller's structure is as old as this function: it ends before `port_cap_flags2`, and `flags` is padding to it.
int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attributes) {
  return OrErrno([=] {
    ibv_port_attr all = {};
    int error = QueryPort(context, port, &all);
    if (error == 0) std::memcpy(static_cast<void*>(attributes), &all, offsetof(ibv_port_attr, port_cap_flags2));
    return error;
  });
}

int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  return OrMinusOne([=] { return QueryGid(context, port, index, gid); });
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
  return OrMinusOne([=] { return GetAsyncEvent(context, event); });
}

void ibv_ack_async_event(ibv_async_event* event) {
  OrNothing([=] { AckAsyncEvent(event); });
}

}  // extern "C"
