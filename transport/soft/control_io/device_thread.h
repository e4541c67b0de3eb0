// How the device starts threads of its own.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_IO_DEVICE_THREAD_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_IO_DEVICE_THREAD_H_

#include <functional>
#include <thread>

namespace verbena::soft {

// Starts a thread that runs `run` with every signal blocked: signals are for the application's threads. `name` is at
// most 15 characters. 0, or the errno value of pthread_create, and `*thread` is as before.
int StartDeviceThread(const char* name, std::function<void()> run, std::thread* thread);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_IO_DEVICE_THREAD_H_
