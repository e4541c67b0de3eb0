// The command line of a program that takes flags and nothing else.

#ifndef VERBENA_EXAMPLES_DAEMON_FLAGS_ALONE_H_
#define VERBENA_EXAMPLES_DAEMON_FLAGS_ALONE_H_

#include "absl/strings/string_view.h"

namespace verbena::examples {

// Reads the flags; `usage` is what --help says, and ends the program with. False, with words on standard error: there
// is a word that is no flag, such as an address without its flag. Once, in main.
bool ParseFlagsAlone(int argc, char** argv, absl::string_view usage);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_DAEMON_FLAGS_ALONE_H_
