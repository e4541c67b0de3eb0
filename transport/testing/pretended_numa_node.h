// For tests: the calling thread is on that memory node for as long as this lives, whatever the machine has.

#ifndef VERBENA_TRANSPORT_TESTING_PRETENDED_NUMA_NODE_H_
#define VERBENA_TRANSPORT_TESTING_PRETENDED_NUMA_NODE_H_

#include "transport/numa_node.h"

namespace verbena::transport {

// One in another: that of the inner, until it ends. Thread: one.
class PretendedNumaNode {
 public:
  explicit PretendedNumaNode(int node) : outer_(SetNumaNodeOfThisThread(node)) {}
  ~PretendedNumaNode() { SetNumaNodeOfThisThread(outer_); }
  PretendedNumaNode(const PretendedNumaNode&) = delete;
  PretendedNumaNode& operator=(const PretendedNumaNode&) = delete;

 private:
  const int outer_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_TESTING_PRETENDED_NUMA_NODE_H_
