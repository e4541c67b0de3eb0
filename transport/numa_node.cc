#include "transport/numa_node.h"

#include <sched.h>

#include <fstream>
#include <string>
#include <utility>

namespace verbena::transport {
namespace {

constinit thread_local int taken_for = kNumaNodeOfTheProcessor;

// Nodes that have memory, in the kernel's notation: "0", "0-1", "0,2".
bool HasSeveralNodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string nodes;
  return file >> nodes && nodes.find_first_of(",-") != std::string::npos;
}

}  // namespace

int NumaNodeOfThisThread() {
  if (taken_for != kNumaNodeOfTheProcessor) return taken_for;
  static const bool several = HasSeveralNodes();
  unsigned int processor = 0, node = 0;
  return several && getcpu(&processor, &node) == 0 ? static_cast<int>(node) : 0;
}

int SetNumaNodeOfThisThread(int node) { return std::exchange(taken_for, node); }

}  // namespace verbena::transport
