// The wire between the two devices of a guest's network (tests/soft_roce/networks/two_rxe), and what befalls it.
//
// Only in a guest: the wire is root's, and on another machine these interfaces may be somebody's.

#ifndef VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_
#define VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_

#include <string>

namespace verbena::soft_roce {

// Whether this is a guest with two devices and a wire.
bool HasWire();

// Runs a command line as root; the test fails if it does.
void RunAsRoot(const std::string& command);

// Whole again when destroyed. Thread: one.
class Wire {
 public:
  Wire() = default;
  ~Wire() { Heal(); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Of what either end sends, so many percent are lost; 100: it is cut, and neither end is told.
  void Lose(int percent);
  void Heal();

 private:
  bool loses_ = false;
};

}  // namespace verbena::soft_roce

#endif  // VERBENA_TESTS_SOFT_ROCE_FAULTS_WIRE_H_
