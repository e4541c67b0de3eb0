#include "transport/verbs/fake_verbs_api.h"

#include <endian.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "transport/verbs/fake_calls.h"

namespace verbena::verbs {
namespace {

// --- Devices.

ibv_device** GetDeviceList(int* count) {
  if (Outcome("get_device_list") != 0) return nullptr;
  *count = 1;
  auto** list = new ibv_device* [2] { &current->device, nullptr };
  current->Add(list, "device list");
  return list;
}

void FreeDeviceList(ibv_device** list) {
  current->Begin("free_device_list");
  current->Remove(list, "device list");
  delete[] list;
}

ibv_context* OpenDevice(ibv_device*) {
  if (Outcome("open_device") != 0) return nullptr;
  current->Add(current->context(), "context");
  return current->context();
}

int CloseDevice(ibv_context* context) {
  current->Begin("close_device");
  current->Remove(context, "context");
  return 0;
}

int QueryDevice(ibv_context*, ibv_device_attr* attributes) {
  *attributes = current->device_attributes;
  return current->Begin("query_device");  // Returns the errno itself, as libibverbs does.
}

int QueryPort(ibv_context*, uint8_t, ibv_port_attr* attributes) {
  *attributes = current->port_attributes;
  return current->Begin("query_port");
}

int QueryGid(ibv_context*, uint8_t port, int index, ibv_gid* gid) {
  gid->raw[0] = port;
  gid->raw[15] = static_cast<uint8_t>(index);
  return Outcome("query_gid");
}

int GetAsyncEvent(ibv_context*, ibv_async_event* event) {
  if (current->async_events.empty()) current->Fail("get_async_event", EAGAIN);
  if (Outcome("get_async_event") != 0) return -1;
  *event = current->async_events.front();
  current->async_events.pop_front();
  return 0;
}

void AckAsyncEvent(ibv_async_event*) { current->Begin("ack_async_event"); }

// --- Memory, completions, receives.

ibv_pd* AllocPd(ibv_context* context) {
  auto* domain = Make<ibv_pd>("alloc_pd", "pd");
  if (domain != nullptr) domain->context = context;
  return domain;
}
int DeallocPd(ibv_pd* pd) { return Destroy("dealloc_pd", pd, "pd"); }

ibv_mr* RegisterMemory(ibv_pd*, void* address, size_t length, int) {
  auto* region = Make<ibv_mr>("register_memory", "region");
  if (region == nullptr) return nullptr;
  region->addr = address;
  region->length = length;
  region->lkey = 11;
  region->rkey = 12;
  return region;
}
int DeregisterMemory(ibv_mr* region) { return Destroy("deregister_memory", region, "region"); }

ibv_comp_channel* CreateCompChannel(ibv_context*) {
  auto* channel = Make<ibv_comp_channel>("create_comp_channel", "completion channel");
  if (channel != nullptr) channel->fd = Descriptor();
  return channel;
}
int DestroyCompChannel(ibv_comp_channel* channel) {
  close(channel->fd);
  return Destroy("destroy_comp_channel", channel, "completion channel");
}

ibv_cq* CreateCq(ibv_context* context, int entries, void* cq_context, ibv_comp_channel*, int vector) {
  current->completion_vector = vector;
  auto* queue = Make<ibv_cq>("create_cq", "cq");
  if (queue == nullptr) return nullptr;
  queue->context = context;
  queue->cqe = entries;
  queue->cq_context = cq_context;
  return queue;
}
int DestroyCq(ibv_cq* queue) { return Destroy("destroy_cq", queue, "cq"); }

int GetCqEvent(ibv_comp_channel*, ibv_cq** queue, void** cq_context) {
  if (current->completion_events.empty()) current->Fail("get_cq_event", EAGAIN);
  if (Outcome("get_cq_event") != 0) return -1;
  *queue = current->completion_events.front();
  *cq_context = (*queue)->cq_context;
  current->completion_events.pop_front();
  return 0;
}

void AckCqEvents(ibv_cq*, unsigned int count) {
  current->Begin("ack_cq_events");
  current->acknowledged_completion_events += count;
}

ibv_srq* CreateSrq(ibv_pd*, ibv_srq_init_attr* attributes) {
  auto* queue = Make<ibv_srq>("create_srq", "srq");
  if (queue == nullptr) return nullptr;
  queue->context = current->context();
  if (current->granted_receives != 0) attributes->attr.max_wr = current->granted_receives;
  return queue;
}

int ModifySrq(ibv_srq*, ibv_srq_attr* attributes, int) {
  current->srq_limit = attributes->srq_limit;
  return current->Begin("modify_srq");
}

int QuerySrq(ibv_srq*, ibv_srq_attr*) { return Outcome("query_srq"); }
int DestroySrq(ibv_srq* queue) { return Destroy("destroy_srq", queue, "srq"); }

int ModifyQp(ibv_qp*, ibv_qp_attr* attributes, int mask) {
  current->modified_queue_pair = *attributes;
  current->modified_queue_pair_mask = mask;
  return current->Begin("modify_qp");
}

int QueryQp(ibv_qp*, ibv_qp_attr* attributes, int, ibv_qp_init_attr*) {
  attributes->qp_state = IBV_QPS_RTS;
  return current->Begin("query_qp");
}

// --- What goes through the context's own table.

ibv_mw* AllocMw(ibv_pd* domain, ibv_mw_type type) {
  auto* window = Make<ibv_mw>("alloc_mw", "window");
  if (window == nullptr) return nullptr;
  *window = {.context = domain->context, .pd = domain, .rkey = 0x1234ff, .handle = 0, .type = type};
  return window;
}
int DeallocMw(ibv_mw* window) { return Destroy("dealloc_mw", window, "window"); }

int PollCq(ibv_cq*, int count, ibv_wc* completions) {
  if (current->Begin("poll_cq") != 0) return -1;
  int taken = 0;
  for (; taken < count && !current->completions.empty(); ++taken) {
    completions[taken] = current->completions.front();
    current->completions.pop_front();
  }
  return taken;
}

int RequestNotifyCq(ibv_cq*, int solicited_only) {
  return current->Begin(solicited_only != 0 ? "req_notify_cq solicited" : "req_notify_cq");
}

int PostSend(ibv_qp*, ibv_send_wr* list, ibv_send_wr** bad) {
  *bad = list;
  return current->Begin("post_send");
}

int PostReceive(ibv_qp*, ibv_recv_wr* list, ibv_recv_wr** bad) {
  *bad = list;
  return current->Begin("post_recv");
}

int PostSrqReceive(ibv_srq*, ibv_recv_wr* list, ibv_recv_wr** bad) {
  *bad = list;
  const int error = current->Begin("post_srq_recv");
  for (; error == 0 && list != nullptr; list = list->next) current->srq_receives.push_back(list->wr_id);
  return error;
}

VerbsApi MakeTable() {
  VerbsApi api = {};
  api.name = "fake";
  api.get_device_list = GetDeviceList;
  api.free_device_list = FreeDeviceList;
  api.get_device_name = [](ibv_device* device) -> const char* { return device->name; };
  api.get_device_guid = [](ibv_device*) -> __be64 { return htobe64(0x5054000000fe0012); };
  api.open_device = OpenDevice;
  api.close_device = CloseDevice;
  api.query_device = QueryDevice;
  api.query_port = QueryPort;
  api.query_gid = QueryGid;
  api.get_async_event = GetAsyncEvent;
  api.ack_async_event = AckAsyncEvent;
  api.alloc_pd = AllocPd;
  api.dealloc_pd = DeallocPd;
  api.register_memory = RegisterMemory;
  api.deregister_memory = DeregisterMemory;
  api.map_memory = [](size_t) -> void* { return nullptr; };
  api.unmap_memory = [](void*, size_t) { return EINVAL; };
  api.create_comp_channel = CreateCompChannel;
  api.destroy_comp_channel = DestroyCompChannel;
  api.create_cq = CreateCq;
  api.destroy_cq = DestroyCq;
  api.get_cq_event = GetCqEvent;
  api.ack_cq_events = AckCqEvents;
  api.create_srq = CreateSrq;
  api.modify_srq = ModifySrq;
  api.query_srq = QuerySrq;
  api.destroy_srq = DestroySrq;
  api.modify_qp = ModifyQp;
  api.query_qp = QueryQp;
  AddCmCalls(api);
  return api;
}

}  // namespace

FakeVerbs::FakeVerbs() : descriptor(open("/dev/null", O_RDONLY)) {
  EXPECT_EQ(current, nullptr) << "one fake at a time";
  current = this;
  strcpy(device.name, "fake0");
  device_attributes.phys_port_cnt = 1;
  context_.device = &device;
  context_.async_fd = open("/dev/null", O_RDONLY);
  context_.num_comp_vectors = 2;
  context_.ops.poll_cq = PollCq;
  context_.ops.req_notify_cq = RequestNotifyCq;
  context_.ops.post_send = PostSend;
  context_.ops.post_recv = PostReceive;
  context_.ops.post_srq_recv = PostSrqReceive;
  context_.ops.alloc_mw = AllocMw;
  context_.ops.dealloc_mw = DeallocMw;
}

FakeVerbs::~FakeVerbs() {
  for (const auto& [object, kind] : live_) ADD_FAILURE() << "left alive: " << kind;
  if (descriptor != -1) close(descriptor);
  close(context_.async_fd);
  current = nullptr;
}

const VerbsApi& FakeVerbs::api() const {
  static const VerbsApi api = MakeTable();
  return api;
}

int FakeVerbs::CountOf(absl::string_view call) const {
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), call));
}

int FakeVerbs::Begin(const char* call) {
  calls_.push_back(call);
  auto failure = failures_.find(call);
  if (failure == failures_.end()) return 0;
  auto [error, times] = failure->second;
  if (--failure->second.second <= 0) failures_.erase(failure);
  return error;
}

void FakeVerbs::Remove(void* object, const char* kind) {
  EXPECT_EQ(live_.erase({object, kind}), 1u) << "destroyed twice, or never made: " << kind;
  destroyed_.push_back(kind);
}

}  // namespace verbena::verbs
