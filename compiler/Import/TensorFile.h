// Files of named tensors, whatever their format: what is in them, and reading it in bounded memory.
#ifndef XF_COMPILER_IMPORT_TENSORFILE_H
#define XF_COMPILER_IMPORT_TENSORFILE_H

#include "compiler/Import/RowMajorReader.h"
#include "compiler/Import/Tensor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <optional>

namespace xf {

enum class DType { Bool, U8, I8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64 };

llvm::StringRef dtypeName(DType type);
/// The type of that name; nothing if there is none.
std::optional<DType> findDType(llvm::StringRef name);
size_t dtypeSize(DType type);
bool isFloat(DType type);

/// As many as NumPy and PyTorch allow. More are damage: many tensors may share one long shape, which takes little in the file.
constexpr size_t kMaxDimensions = 64;

/// The size of a tensor in bytes; nothing if no memory has as many.
std::optional<uint64_t> byteSize(DType type, llvm::ArrayRef<int64_t> shape);

/// A tensor of a file: where its bytes are. Tensors that cannot be read are listed as well: a model may not need them.
struct TensorInfo {
  std::string name;
  DType dtype = DType::U8;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0; // of its bytes within its storage, as many as its elements need
  std::string problem;         // why it cannot be read, to continue "tensor 'NAME' "; empty: it can be
  bool shapeKnown = true;      // always, where there is no problem
  std::string identity = {};   // the same for tensors of the file that share all of their memory; empty: it shares none
  size_t storage = 0;          // a part of its file, by the format's index
  Strides strides = {};        // if it has elements that are not row-major there, from `begin` on
  int64_t count() const { return (end - begin) / dtypeSize(dtype); }
};

class TensorFile {
public:
  virtual ~TensorFile() = default;

  llvm::StringRef getPath() const { return path; }
  /// In the order of their data.
  llvm::ArrayRef<TensorInfo> getTensors() const { return tensors; }
  const TensorInfo *find(llvm::StringRef name) const;

  /// Elements [first, first + out.size()) of a float tensor, widened to f32 (F64 is rounded). Pieces are best read in order.
  /// May be called from several threads.
  llvm::Error readFloats(const TensorInfo &tensor, int64_t first, llvm::MutableArrayRef<float> out) const;
  /// The whole tensor, whatever its type.
  llvm::Expected<Tensor> read(const TensorInfo &tensor) const;
  /// Says that the tensor is not needed for now: frees what was kept to read it, if it is much.
  void release(const TensorInfo &tensor) const { rowMajorReader.release(tensor); }
  /// As ParameterSource's.
  virtual bool readsInOrder() const { return false; }

protected:
  explicit TensorFile(std::string path) : path(std::move(path)) {}

  /// Appends a tensor; false if there is one of that name.
  bool add(TensorInfo tensor);
  /// Bytes [first, first + out.size()) of a storage; reading the last ones may report that the others were damaged.
  virtual llvm::Error readStorage(size_t storage, uint64_t first, llvm::MutableArrayRef<char> out) const = 0;

  std::string path;

private:
  llvm::Error checkReadable(const TensorInfo &tensor) const;
  /// Bytes [first, first + out.size()) of a tensor's rows.
  llvm::Error readBytes(const TensorInfo &tensor, uint64_t first, llvm::MutableArrayRef<char> out) const;
  /// Hands over elements [first, first + count), some at a time.
  llvm::Error readChunks(const TensorInfo &tensor, int64_t first, int64_t count,
                         llvm::function_ref<void(const char *elements, int64_t count)> visit) const;

  std::vector<TensorInfo> tensors;
  llvm::StringMap<unsigned> index;
  mutable RowMajorReader rowMajorReader; // of those that are not row-major
};

/// Opens a safetensors or .npz file, or one that torch.save wrote: its first bytes say which.
llvm::Expected<std::unique_ptr<TensorFile>> openTensorFile(llvm::StringRef path);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TENSORFILE_H
