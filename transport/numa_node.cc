#include "transport/numa_node.h"

#include <sched.h>

#include <fstream>
#include <string>

namespace verbena::transport {
namespace {

constexpr int kNotPretended = -1;
constinit thread_local int pretended = kNotPretended;

// Nodes that have memory, in the kernel's notation: "0", "0-1", "0,2".
bool HasSeveralNodes() {
  std::ifstream file("/sys/devices/system/node/has_memory");
  std::string nodes;
  return file >> nodes && nodes.find_first_of(",-") != std::string::npos;
}

}  // namespace

int NumaNodeOfThisThread() {
  if (pretended != kNotPretended) return pretended;
  static const bool several = HasSeveralNodes();
  unsigned int processor = 0, node = 0;
  return several && getcpu(&processor, &node) == 0 ? static_cast<int>(node) : 0;
}

PretendedNumaNode::PretendedNumaNode(int node) { pretended = node; }

PretendedNumaNode::~PretendedNumaNode() { pretended = kNotPretended; }

}  // namespace verbena::transport
