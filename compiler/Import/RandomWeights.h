// Parameters drawn at random, for measurements and for tests without a checkpoint.
#ifndef XF_COMPILER_IMPORT_RANDOMWEIGHTS_H
#define XF_COMPILER_IMPORT_RANDOMWEIGHTS_H

#include "compiler/Import/ParameterSource.h"

namespace xf {

/// Each tensor depends on the seed and its own path only, not on the model's order or on other tensors.
/// Uniform values: of rank 2 and more as Xavier says, ±sqrt(6 / (last dimension + the one before)); of rank 1 within
/// 0.1 of 1 if the last part of the name is weight, alpha, gamma or scale (a norm's factor), else within 0.1 of 0 (a bias).
/// Tables are computed as always.
class RandomWeights : public ParameterSource {
public:
  explicit RandomWeights(uint64_t seed) : seed(seed) {}
  llvm::Error read(mlir::xf::ParameterOp parameter, llvm::ArrayRef<int64_t> indices, int64_t first, llvm::MutableArrayRef<float> out) override;

private:
  uint64_t seed;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_RANDOMWEIGHTS_H
