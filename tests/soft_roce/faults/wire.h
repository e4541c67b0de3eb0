// The wire between the two devices of a guest's network (tests/soft_roce/networks: two_rxe, siw_two_namespaces), and
// what befalls it.
//
// Only in a guest: the wire is root's, and on another machine these interfaces may be somebody's.

#ifndef VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_
#define VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_

#include <string>
#include <vector>

namespace verbena::soft_roce {

// Whether this is a guest with two devices and a wire.
bool HasWire();

// Whether the devices are iWARP: TCP sends again what the wire has lost, for minutes, and the device has no retries of
// its own that could be exceeded.
bool IsIwarp();

// Where the server is, if the client is this process: what it listens on, and the command that runs another one there
// (empty: that is here).
std::string ServerAddress();
std::vector<std::string> ServerLauncher();

// Runs a command line as root; the test fails if it does.
void RunAsRoot(const std::string& command);

// Whole again when destroyed. Thread: one.
class Wire {
 public:
  Wire() = default;
  ~Wire() { Heal(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // What becomes of what either end sends, in netem's words (tc-netem(8)): "loss 1%", "delay 2ms reorder 25%".
  void Disturb(const std::string& netem);
  // Everything is lost, and neither end is told.
  void Cut() { Disturb("loss 100%"); }
  // The port of this process's device goes down: rxe's cable is pulled at the switch (VERBENA_TEST_LINK), and siw,
  // which looks at no cable, has its interface set down.
  void TakeLinkDown();
  void Heal();

 private:
  bool disturbed_ = false;
  bool down_ = false;
};

}  // namespace verbena::soft_roce

#endif  // VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_
