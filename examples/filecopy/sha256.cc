#include "examples/filecopy/sha256.h"

#include <new>

namespace verbena::examples {
namespace {

// OpenSSL fails here only for want of memory.
void Check(int result) {
  if (result != 1) throw std::bad_alloc();
}

}  // namespace

Sha256::Context Sha256::MakeContext() {
  Context context(EVP_MD_CTX_new());
  if (context == nullptr) throw std::bad_alloc();
  return context;
}

Sha256::Sha256() : context_(MakeContext()) { Check(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr)); }

void Sha256::Update(absl::string_view bytes) { Check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size())); }

std::string Sha256::Current() const {
  const Context copy = MakeContext();
  Check(EVP_MD_CTX_copy_ex(copy.get(), context_.get()));
  std::string digest(EVP_MD_size(EVP_sha256()), '\0');
  Check(EVP_DigestFinal_ex(copy.get(), reinterpret_cast<unsigned char*>(&digest[0]), nullptr));
  return digest;
}

}  // namespace verbena::examples
