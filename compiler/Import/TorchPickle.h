// What the pickles of torch.save say about tensors.
#ifndef XF_COMPILER_IMPORT_TORCHPICKLE_H
#define XF_COMPILER_IMPORT_TORCHPICKLE_H

#include "compiler/Import/Pickle.h"
#include "compiler/Import/TensorFile.h"

namespace xf {

/// A part of a storage, whose elements are all of one type.
struct TorchTensor {
  llvm::StringRef key; // the storage's
  DType dtype = DType::U8;
  int64_t storageOffset = 0; // in elements
  std::vector<int64_t> shape, strides;
  std::string problem; // as TensorInfo's; then nothing else but the shape is known
  bool shapeKnown = false;
};

/// The tensor that a value describes; nothing if it is none.
std::optional<TorchTensor> findTorchTensor(const PickleValue &value);

/// The dictionary of tensors by name: the value itself, or a member of it, where training programs keep other things, too. An error does not
/// name the file.
llvm::Expected<const PickleValue *> findStateDictionary(const PickleValue &root);

/// A storage, as a persistent id names it.
struct TorchStorage {
  llvm::StringRef key;
  std::string typeName;       // torch.FloatStorage
  std::optional<DType> dtype; // nothing if tensors of the type cannot be read
  uint64_t elementSize = 0;   // in bytes; 0 where it is not known
};
/// The storage that a value describes; nothing if it is none.
std::optional<TorchStorage> findTorchStorage(const PickleValue &value);

} // namespace xf

#endif // XF_COMPILER_IMPORT_TORCHPICKLE_H
