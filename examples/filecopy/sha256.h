// SHA-256 of bytes that come in pieces, by OpenSSL.

#ifndef VERBENA_EXAMPLES_FILECOPY_SHA256_H_
#define VERBENA_EXAMPLES_FILECOPY_SHA256_H_

#include <openssl/evp.h>

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace verbena::examples {

class Sha256 {
 public:
  Sha256();

  void Update(absl::string_view bytes);
  // The digest of what there was so far, 32 bytes; Update may go on. absl::BytesToHexString makes it what sha256sum
  // prints.
  std::string Current() const;

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  using Context = std::unique_ptr<EVP_MD_CTX, Free>;
  static Context MakeContext();

  Context context_;
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_SHA256_H_
