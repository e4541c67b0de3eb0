// Whether this process is a child, made by fork(), of the process that opened the device.
//
// Such a child has the parent's shared memory mapped and must not write it: its exit handlers may well destroy objects
// that are still in use in the parent. It cannot open the device until it calls exec().
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_
#define VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_

namespace verbena::soft {

// Children made from here on are recognized.
void RecognizeForkedChildren();

bool IsForkedChild();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_FORKED_CHILD_H_
