// A file's bytes tell its kind, not its name.
#include "compiler/Import/Error.h"
#include "compiler/Import/Npz.h"
#include "compiler/Import/Safetensors.h"
#include "compiler/Import/TorchFile.h"

using namespace xf;

static llvm::Expected<std::unique_ptr<TensorFile>> openArchive(const std::string &path) {
  auto archive = ZipArchive::open(path);
  if (!archive)
    return archive.takeError();
  if (auto pickle = TorchFile::findPickle(**archive))
    return TorchFile::open(std::move(*archive), *pickle);
  return NpzFile::open(std::move(*archive));
}

llvm::Expected<std::unique_ptr<TensorFile>> xf::openTensorFile(llvm::StringRef path) {
  std::string name = path.str();
  auto bytes = ByteFile::open(name);
  if (!bytes)
    return bytes.takeError();
  char buffer[9] = {};
  llvm::MutableArrayRef<char> prefix(buffer, std::min<uint64_t>(sizeof(buffer), (*bytes)->getSize()));
  if (llvm::Error error = (*bytes)->read(0, prefix))
    return error;
  llvm::StringRef magic(prefix.data(), prefix.size());
  if (magic.starts_with("PK\3\4") || magic.starts_with("PK\5\6"))
    return openArchive(name);
  if (magic.starts_with("\x93NUMPY"))
    return makeError("{}: is one array without a name (.npy); save it with numpy.savez, which gives arrays names", name);
  // A pickle begins with 0x80. The length of a safetensors header may do so as well, but a header begins with a brace.
  if (magic.starts_with("\x80") && !magic.ends_with("{"))
    return TorchFile::open(std::move(*bytes));
  if (magic.size() < 8)
    return makeError("{}: not a file of tensors: it has only {} bytes", name, magic.size());
  return SafetensorsFile::open(std::move(*bytes));
}
