// Whether this process is a child, made by fork(), of a process that used the device: its engine, its connection
// manager or both. Each of them has its first use recognize children, and does what else is to be done in a child by
// handlers of its own.
//
// In such a child the device is dead until it calls exec(): what would make, change or use an object gives ENODEV, and
// what destroys one does nothing, without a lock, since another thread of the parent may have held any lock at the
// fork. The memory that the parent shares with its peers is replaced by private memory, so that also a call which takes
// another way reaches nobody. The parent and its connections go on, whatever the child does, its end included.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_IO_FORKED_CHILD_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_IO_FORKED_CHILD_H_

namespace verbena::soft {

// Children made from here on are recognized.
void RecognizeForkedChildren();

bool IsForkedChild();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_IO_FORKED_CHILD_H_
