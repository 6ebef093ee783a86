// Scalar regions (of maps, masks, biases, scans, tables) as small flat programs.
//
// A region is compiled once into a list of instructions on two register files, floats (double) and integers (int64_t).
// It then runs over many elements at a time, one register holding `lanes` values, so that walking the instructions
// costs nothing compared to the arithmetic.
//
// Where a result is discontinuous (conversions to integers, floor, remainders), f64 would answer another question than the one that
// is asked: a description's numbers are f32, and `log(x) / log(16) * 8` reaches 2 in f32, but stays below it in f64,
// because log(16) has been rounded. Therefore, such ops take operands that f32 arithmetic has computed, in
// Precision::F64, too. Everything else, and f32 values that are also used otherwise, keep their f64 precision.
#ifndef XF_COMPILER_REFERENCE_SCALAR_H
#define XF_COMPILER_REFERENCE_SCALAR_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace xf {

/// F32 rounds every f32 value to f32; F64 computes all floats in f64. f64 values are f64 in both.
enum class Precision { F32, F64 };

/// The nearest bf16 value, ties to even.
float roundToBF16(float value);
/// The nearest f16 value, ties to even; infinity from 65520 on.
float roundToF16(float value);

/// A tensor as `xf.at` reads it: one of the pointers is set.
struct TensorView {
  llvm::ArrayRef<int64_t> shape;
  const double *f64 = nullptr;
  const float *f32 = nullptr;
  const int64_t *ints = nullptr;
};

class ScalarFrame;

struct ScalarInst {
  void (*kernel)(ScalarFrame &, const ScalarInst &) = nullptr;
  int result = 0;
  int operands[3] = {0, 0, 0};
  unsigned bits = 64;      // width of an integer result, or of a conversion's operand
  bool f32 = false;        // the result is rounded in Precision::F32
  float (*round)(float) = nullptr; // rounds the result in either precision, as the op is there to round
  int tensor = 0;          // xf.at: which tensor
  std::vector<int> indices; // xf.at: integer registers
};

class ScalarProgram {
public:
  /// A register: its file and index.
  struct Reg {
    bool isFloat;
    int index;
  };

  /// Arguments are the block's, results what its terminator yields.
  static llvm::Expected<ScalarProgram> compile(mlir::Block &block);
  /// A single op: arguments are its operands, results its results.
  static llvm::Expected<ScalarProgram> compile(mlir::Operation *op);

  llvm::ArrayRef<Reg> getResults() const { return results; }
  /// The indices of the arguments on which discontinuous results depend: such a result is right if f32 arithmetic computed them.
  llvm::ArrayRef<unsigned> getRoundedArgs() const { return roundedArgs; }
  /// Scalars from outside the region (a layer's index), bound before a run.
  llvm::ArrayRef<mlir::Value> getCaptures() const { return captures; }
  /// Tensors that `xf.at` reads, bound before a run.
  llvm::ArrayRef<mlir::Value> getTensors() const { return tensors; }

private:
  friend class ScalarFrame;
  friend struct ScalarCompiler;
  std::vector<ScalarInst> insts;
  std::vector<std::pair<int, double>> floatConstants;
  std::vector<std::pair<int, int64_t>> intConstants;
  std::vector<Reg> args, results, captureRegs;
  std::vector<unsigned> roundedArgs;
  std::vector<mlir::Value> captures, tensors;
  int floatRegs = 0, intRegs = 0;
};

/// The registers of one program, ready to run.
class ScalarFrame {
public:
  static constexpr int maxLanes = 64;

  ScalarFrame(const ScalarProgram &program, Precision precision);

  double *floats(int reg) { return floatFile.data() + reg * maxLanes; }
  int64_t *ints(int reg) { return intFile.data() + reg * maxLanes; }
  double *floatArg(unsigned i) { return floats(program.args[i].index); }
  int64_t *intArg(unsigned i) { return ints(program.args[i].index); }
  const double *floatResult(unsigned i) const { return floatFile.data() + program.results[i].index * maxLanes; }
  const int64_t *intResult(unsigned i) const { return intFile.data() + program.results[i].index * maxLanes; }
  void bindCapture(unsigned i, int64_t value);
  void bindTensor(unsigned i, TensorView view) { views[i] = view; }

  /// Runs lanes 0 .. lanes - 1. An error if `xf.at` reads outside its tensor.
  llvm::Error run(int lanes);

  const ScalarProgram &program;
  const Precision precision;
  int lanes = 0;
  std::vector<TensorView> views;
  bool outOfBounds = false; // an xf.at read outside its tensor

private:
  std::vector<double> floatFile;
  std::vector<int64_t> intFile;
};

/// The kernel for an op (by name, and by predicate for comparisons), or null if scalar regions do not know it.
using ScalarKernel = void (*)(ScalarFrame &, const ScalarInst &);
ScalarKernel findScalarKernel(mlir::Operation *op);
/// Copies a float.
ScalarKernel findCopyKernel();

} // namespace xf

#endif // XF_COMPILER_REFERENCE_SCALAR_H
