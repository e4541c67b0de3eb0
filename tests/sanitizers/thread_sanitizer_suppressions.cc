// What ThreadSanitizer must not report: reference counts inside Debian's Abseil libraries, which are not instrumented,
// so the order that their atomic decrement makes is not seen. Everything of ours is instrumented and not listed here.

extern "C" const char* __tsan_default_suppressions();

const char* __tsan_default_suppressions() {
  return "race:Status::Unref\n"
         "race:cord_internal::CordRep::Destroy\n";
}
