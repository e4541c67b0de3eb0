// Whether this process is a child, made by fork(), of the process that opened the device.
//
// In such a child the device is dead until it calls exec(): what would make, change or use an object gives ENODEV, and
// what destroys one does nothing, without a lock, since another thread of the parent may have held any lock at the
// fork. The memory that the parent shares with its peers is replaced by private memory, so that also a call which takes
// another way reaches nobody. The parent and its connections go on, whatever the child does, its end included.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_
#define VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_

namespace verbena::soft {

// Children made from here on are recognized, and run `in_child` before fork() returns there.
void RecognizeForkedChildren(void (*in_child)());

bool IsForkedChild();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_
