// Comparing a model with golden numbers, whatever runs it: an interpreter or a compiled program.
#ifndef XF_COMPILER_IMPORT_GOLDEN_H
#define XF_COMPILER_IMPORT_GOLDEN_H

#include "compiler/Import/Engine.h"

namespace xf {

struct GoldenOptions {
  double rtol = 1e-5; // on the norm-wise error
  TensorMap *results = nullptr; // where all results go, if anywhere
};

/// How one tensor compares.
struct GoldenResult {
  std::string name;  // without "out."
  std::string entry; // what produced it
  bool exact = false;       // integers: compared one by one
  double maxError = 0;      // largest absolute error
  double relativeError = 0; // ‖a − b‖₂ / ‖b‖₂
  int64_t mismatches = 0;   // integers that differ
  std::string problem;      // why it fails; empty if it passes
};

struct GoldenReport {
  std::vector<GoldenResult> tensors;
  std::vector<std::string> problems; // besides the tensors': inputs not consumed, outputs not produced
  bool passed() const;
  /// One line a tensor, then the problems.
  std::string format() const;
};

/// Compares `got` with `want`. NaN agrees with NaN only, an infinity with itself only.
GoldenResult compareTensors(llvm::StringRef name, const Tensor &got, const Tensor &want, const GoldenOptions &options);

/// Runs every entry that can run and compares its results. `file` holds in.NAME and out.NAME. A result feeds the
/// inputs of its name unless the file has in.NAME; out.greedy asks for a search. Everything in the file must be used.
/// An error is a failure of the engine itself; differences are in the report.
llvm::Expected<GoldenReport> runGolden(Engine &engine, TensorMap file, const GoldenOptions &options = {});

/// The same for a file of golden numbers.
llvm::Expected<GoldenReport> runGolden(Engine &engine, llvm::StringRef path, const GoldenOptions &options = {});

} // namespace xf

#endif // XF_COMPILER_IMPORT_GOLDEN_H
