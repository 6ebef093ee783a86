// Scalar code: what one element of a map, mask, bias, table or scan computes, in the arith and math dialects.
#ifndef XF_COMPILER_FRONTEND_SCALARCODE_H
#define XF_COMPILER_FRONTEND_SCALARCODE_H

#include "compiler/Frontend/Messages.h"

#include "mlir/IR/Builders.h"

namespace xf::frontend {

/// An operand of scalar code: an SSA value or a compile-time number.
using Operand = std::variant<mlir::Value, int64_t, double, bool>;

/// `value` as an operand, if it is an element, a number or a boolean.
std::optional<Operand> operandOf(const Value &value);

/// A function of a real number.
struct RealFunction {
  llvm::StringRef name;
  double (*evaluate)(double);                                            // of a number, when compiling
  mlir::Value (*create)(mlir::OpBuilder &, mlir::Location, mlir::Value); // its operation
};
/// All that the language has; the library defines those that can be expressed with them.
llvm::ArrayRef<RealFunction> realFunctions();
/// The one of that name, or null.
const RealFunction *findRealFunction(llvm::StringRef name);

/// Writes operations on elements at the builder's insertion point. Positions are `index`, tokens i32, numbers `realType`; mixed operands are
/// converted to the wider kind. An error is reported and gives null, which must not become an operand.
class ScalarCode {
public:
  ScalarCode(mlir::OpBuilder &builder, Messages &messages) : realType(builder.getF32Type()), builder(builder), messages(messages) {}

  /// An operator (+ - * / % ^ div min max & | and comparisons) by its text.
  mlir::Value binary(llvm::StringRef op, Operand left, Operand right, Loc loc);
  /// `-`, `!` or a function of one number by its name.
  mlir::Value unary(llvm::StringRef op, Operand operand, Loc loc);
  mlir::Value select(Operand condition, Operand trueValue, Operand falseValue, Loc loc);
  mlir::Value convert(Operand operand, mlir::Type type, Loc loc);

  mlir::Type realType; // f64 in tables, else f32

private:
  template <typename T>
  mlir::Value constant(T number, mlir::Type type, Loc loc);
  mlir::Value remainder(mlir::Value a, mlir::Value b, Loc loc);
  mlir::Type commonType(llvm::ArrayRef<Operand> operands, bool real) const;

  mlir::OpBuilder &builder;
  Messages &messages;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_SCALARCODE_H
