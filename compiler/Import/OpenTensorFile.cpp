// Which kind of file it is: its bytes say so, not its name.
#include "compiler/Import/Error.h"
#include "compiler/Import/Npz.h"
#include "compiler/Import/Safetensors.h"
#include "compiler/Import/TorchFile.h"

#include "llvm/Support/FileSystem.h"

#include <fstream>

using namespace xf;

/// The first bytes of a regular file; fewer if it has fewer, or cannot be read.
static std::string readBeginning(const std::string &path) {
  std::string bytes(9, '\0');
  std::ifstream file;
  if (llvm::sys::fs::is_regular_file(path)) // a pipe must not be waited for
    file.open(path, std::ios::binary);
  file.read(bytes.data(), bytes.size());
  bytes.resize(file.gcount());
  return bytes;
}

static llvm::Expected<std::unique_ptr<TensorFile>> openArchive(const std::string &path) {
  auto archive = ZipArchive::open(path);
  if (!archive)
    return archive.takeError();
  if (auto pickle = TorchFile::findPickle(**archive))
    return TorchFile::open(std::move(*archive), *pickle);
  return NpzFile::open(std::move(*archive));
}

llvm::Expected<std::unique_ptr<TensorFile>> xf::openTensorFile(llvm::StringRef path) {
  std::string name = path.str(), beginning = readBeginning(name);
  llvm::StringRef magic = beginning;
  if (magic.starts_with("PK\3\4") || magic.starts_with("PK\5\6"))
    return openArchive(name);
  if (magic.starts_with("\x93NUMPY"))
    return makeError("{}: is one array without a name (.npy); save it with numpy.savez, which gives arrays names", name);
  // A pickle begins with 0x80. The length of a safetensors header may do so as well, but a header begins with a brace.
  if (magic.starts_with("\x80") && !magic.ends_with("{")) {
    auto bytes = ByteFile::open(name);
    if (!bytes)
      return bytes.takeError();
    return TorchFile::open(std::move(*bytes));
  }
  return SafetensorsFile::open(name);
}
