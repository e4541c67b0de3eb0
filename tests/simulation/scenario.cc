#include "tests/simulation/scenario.h"

#include "absl/strings/str_cat.h"
#include "tests/simulation/random.h"

namespace verbena::simulation {

namespace {

// A fault is absent in two thirds of the scenarios and then of random frequency.
uint32_t Sometimes(Random& random, uint64_t low, uint64_t high) {
  const uint32_t one_in = static_cast<uint32_t>(random.Between(low, high));
  return random.OneIn(3) ? one_in : 0;
}

uint32_t Number(Random& random, uint64_t low, uint64_t high) {
  return static_cast<uint32_t>(random.Between(low, high));
}

void ChooseShape(Random& random, Scenario& scenario) {
  scenario.connections = random.OneIn(2) ? 1 : Number(random, 2, 6);
  scenario.spare_receives = random.OneIn(3) ? 0 : Number(random, 0, 40);
  scenario.client_spare_receives = random.OneIn(3) ? 0 : Number(random, 0, 20);
  scenario.credits_max = random.OneIn(3) ? Number(random, 2, 6) : 64;
  scenario.receive_buffer_bytes = 512u << random.Between(0, 3);
  scenario.send_slots = Number(random, 4, 24);
  scenario.read_depth = static_cast<uint16_t>(random.Between(1, 8));
  scenario.read_chunk_bytes = 4096u << random.Between(0, 8);
  scenario.messages = Number(random, 0, 30);
  scenario.message_bytes_max = uint64_t{1} << random.Between(8, 24);
  scenario.gap_us_max = Number(random, 0, 100);
  scenario.keepalive = random.OneIn(8);
  if (random.OneIn(8)) scenario.quarantine_bytes_max = random.Between(0, 1 << 20);
  scenario.exports_revocable = random.OneIn(2);
}

void ChooseSlowness(Random& random, Scenario& scenario) {
  scenario.slow_us_typical = Number(random, 0, 20);
  scenario.slow_one_in = Sometimes(random, 5, 50);
  scenario.slow_us_max = Number(random, 50, 5000);
  scenario.repost_us_max = random.OneIn(3) ? Number(random, 0, 2000) : Number(random, 0, 10);
}

void ChooseFaults(Random& random, Scenario& scenario) {
  scenario.cancel_send_one_in = Sometimes(random, 2, 20);
  scenario.cancel_fetch_one_in = Sometimes(random, 2, 20);
  scenario.refuse_one_in = Sometimes(random, 2, 10);
  scenario.no_landing_one_in = Sometimes(random, 2, 20);
  scenario.no_export_one_in = Sometimes(random, 2, 20);
  scenario.bad_identity_one_in = Sometimes(random, 2, 20);
  scenario.answer_one_in = Sometimes(random, 1, 4);
  scenario.idle_one_in = Sometimes(random, 3, 20);
  scenario.hold_one_in = Sometimes(random, 2, 20);
  if (random.OneIn(10)) scenario.read_error_one_in = Number(random, 10, 100);
  if (random.OneIn(8)) scenario.cut_at_us = Number(random, 1, 3000);
  if (random.OneIn(10)) scenario.abort_at_us = Number(random, 1, 3000);
  if (random.OneIn(6)) scenario.drain_at_us = Number(random, 1, 3000);
}

void ChooseAuthentication(Random& random, Scenario& scenario) {
  if (random.OneIn(2)) return;
  scenario.authentication_messages = Number(random, 1, 7);
  if (random.OneIn(4)) scenario.refuse_peer_one_in = Number(random, 2, 20);
}

// Last, so that seeds which do without stand for what they stood for before there was this.
void ChooseProvisions(Random& random, Scenario& scenario) {
  if (random.OneIn(2)) return;
  scenario.provisions = Number(random, 1, 20);
  scenario.provided_beyond_max = Number(random, 0, 50);
}

void ChoosePacking(Random& random, Scenario& scenario) {
  if (random.OneIn(2)) scenario.packing = random.OneIn(2) ? wire::Packing::kEager : wire::Packing::kRendezvous;
}

void ChooseOffer(Random& random, Scenario& scenario) {
  if (random.OneIn(2)) return;
  scenario.offered_bytes = uint64_t{1} << random.Between(8, 20);
  if (random.OneIn(8)) scenario.messages = Number(random, 60, 120);
}

}  // namespace

Scenario ScenarioOf(uint64_t seed) {
  Random random(seed);
  Scenario scenario;
  ChooseShape(random, scenario);
  ChooseSlowness(random, scenario);
  ChooseFaults(random, scenario);
  ChooseAuthentication(random, scenario);
  ChooseProvisions(random, scenario);
  ChoosePacking(random, scenario);
  ChooseOffer(random, scenario);
  return scenario;
}

std::string ToString(const Scenario& s) {
  return absl::StrCat("connections=", s.connections, " spare=", s.spare_receives, "/", s.client_spare_receives,
                      " credits_max=", s.credits_max, " buffer=", s.receive_buffer_bytes, " slots=", s.send_slots,
                      " read_depth=", s.read_depth, " chunk=", s.read_chunk_bytes, " messages=", s.messages,
                      " bytes_max=", s.message_bytes_max, " offered=", s.offered_bytes,
                      " revocable=", s.exports_revocable, " slow=", s.slow_us_typical, "us/", s.slow_one_in, "/",
                      s.slow_us_max, "us repost=", s.repost_us_max, "us cut=", s.cut_at_us, "us abort=", s.abort_at_us,
                      "us drain=", s.drain_at_us, "us authentication=", s.authentication_messages,
                      " refuse_peer=", s.refuse_peer_one_in, " provisions=", s.provisions, "/", s.provided_beyond_max,
                      " packing=", static_cast<int>(s.packing));
}

}  // namespace verbena::simulation
