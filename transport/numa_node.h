// The memory node (NUMA) that the calling thread is on: the system puts pages there that it is the first to touch.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_NUMA_NODE_H_
#define VERBENA_TRANSPORT_NUMA_NODE_H_

namespace verbena::transport {

// By the processor that it runs on now; a thread that is not pinned may run elsewhere at once. 0 where there is but one
// node, which costs next to nothing to find.
int NumaNodeOfThisThread();

inline constexpr int kNumaNodeOfTheProcessor = -1;  // Whichever that is.

// From here on the calling thread is taken to be on that node, for whoever knows better. Returns what it was taken for.
int SetNumaNodeOfThisThread(int node);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_NUMA_NODE_H_
