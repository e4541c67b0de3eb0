// libibverbs: the rates of links, as an enumeration, as megabits a second and as multiples of 2.5 Gb/s.
// symbols_test.py compares them with rdma-core's.

#include <infiniband/verbs.h>

namespace {

struct LinkRate {
  ibv_rate rate;
  int mbps;
  int multiple;  // Of 2.5 Gb/s; 0 if the specification gives it none.
};

constexpr LinkRate kRates[] = {
    {IBV_RATE_2_5_GBPS, 2500, 1},     {IBV_RATE_5_GBPS, 5000, 2},         {IBV_RATE_10_GBPS, 10000, 4},
    {IBV_RATE_20_GBPS, 20000, 8},     {IBV_RATE_30_GBPS, 30000, 12},      {IBV_RATE_40_GBPS, 40000, 16},
    {IBV_RATE_60_GBPS, 60000, 24},    {IBV_RATE_80_GBPS, 80000, 32},      {IBV_RATE_120_GBPS, 120000, 48},
    {IBV_RATE_14_GBPS, 14062, 0},     {IBV_RATE_56_GBPS, 56250, 0},       {IBV_RATE_112_GBPS, 112500, 0},
    {IBV_RATE_168_GBPS, 168750, 0},   {IBV_RATE_25_GBPS, 25781, 0},       {IBV_RATE_100_GBPS, 103125, 0},
    {IBV_RATE_200_GBPS, 206250, 0},   {IBV_RATE_300_GBPS, 309375, 0},     {IBV_RATE_28_GBPS, 28125, 11},
    {IBV_RATE_50_GBPS, 53125, 20},    {IBV_RATE_400_GBPS, 425000, 160},   {IBV_RATE_600_GBPS, 637500, 240},
    {IBV_RATE_800_GBPS, 850000, 320}, {IBV_RATE_1200_GBPS, 1275000, 480},
};

const LinkRate* Find(ibv_rate rate) {
  for (const LinkRate& each : kRates) {
    if (each.rate == rate) return &each;
  }
  return nullptr;
}

}  // namespace

extern "C" {

int ibv_rate_to_mult(ibv_rate rate) {
  const LinkRate* found = Find(rate);
  return found == nullptr || found->multiple == 0 ? -1 : found->multiple;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  for (const LinkRate& each : kRates) {
    if (each.multiple == multiple && multiple != 0) return each.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  const LinkRate* found = Find(rate);
  return found == nullptr ? -1 : found->mbps;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const LinkRate& each : kRates) {
    if (each.mbps == mbps) return each.rate;
  }
  return IBV_RATE_MAX;
}

}  // extern "C"
