// What carries a link whose other end is not in shared memory: it plays that end in the pair's memory.
//
// The queue pair calls Pull before it looks at its memory and Push when it is done with a turn. A wire has nothing to
// do with what the bytes mean.
//
// Owner: the link. Thread: the queue pair's lock, but for descriptor(), which is constant.

#ifndef VERBENA_TRANSPORT_SOFT_WIRE_H_
#define VERBENA_TRANSPORT_SOFT_WIRE_H_

#include <chrono>
#include <cstdint>

namespace verbena::soft {

class Wire {
 public:
  virtual ~Wire() = default;

  enum class Reach {
    kWhatIsThere,
    kToTheEnd,  // The peer is known to be gone: to the last byte that it left.
  };
  // Takes in what has arrived; at the end of the wire the peer is closed. False: the peer broke the wire's rules.
  virtual bool Pull(Reach reach) = 0;

  enum class Haste {
    kPolite,  // News that nobody waits for may wait for company, but not past two Pulls that found nothing.
    kAll,     // The caller will not be back soon.
  };
  // False if something is left for later.
  virtual bool Push(Haste haste) = 0;

  // Nothing more is taken in. The last words are pushed; what does not fit now is pushed as room appears.
  virtual void Close() = 0;

  // The queue pair waits so long for a peer that does not answer; zero: for ever. A wire that its host gives up by
  // itself is not given up earlier.
  virtual void SetPatience(std::chrono::microseconds patience) = 0;

  // Readable when Pull would find something.
  virtual int descriptor() const = 0;
  // What to await of it when nobody looks: epoll events; 0 if nothing will come of it any more.
  virtual uint32_t awaited_events() const = 0;
};

// Whose wire it is, for those who look after it when the application does not.
class WireTarget {
 public:
  // Does everything that is to be done. Takes the queue pair's lock. Returns the wire's awaited_events.
  virtual uint32_t ServeWire() = 0;

 protected:
  ~WireTarget() = default;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_WIRE_H_
