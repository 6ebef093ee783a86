// Errors and notes of an evaluation, at the locations that a reader of the description can change.
#ifndef XF_COMPILER_FRONTEND_MESSAGES_H
#define XF_COMPILER_FRONTEND_MESSAGES_H

#include "compiler/Frontend/Source.h"
#include "compiler/Frontend/Values.h"

namespace xf::frontend {

class Messages {
public:
  Messages(mlir::MLIRContext &context, Sources &sources, Diagnostics &diagnostics) : sources(sources), diagnostics(diagnostics), context(context) {}

  /// A part of the description that is evaluated because another place in it calls it.
  struct Call {
    Loc loc;
    bool isInside = true; // its body is evaluated, no longer its arguments, which stand at `loc`
  };

  /// An error inside the library is shown at the description's call of it. Notes show the other calls that led to it.
  void error(Loc loc, const std::string &message);
  void note(Loc loc, const std::string &message);
  Value poison(Loc loc, const std::string &message) { return error(loc, message), Poison{}; }
  /// Says where the shape of `value` comes from; `what` names the value as the error before does.
  void noteValue(mlir::Value value, llvm::StringRef what);

  /// The location in the description that `loc` was reached from.
  Loc userLoc(Loc loc) const;
  Loc locOf(mlir::Value value) const { return sources.fromMlir(value.getLoc()); }
  mlir::Location at(Loc loc) const { return sources.toMlir(&context, userLoc(loc)); }

  Sources &sources;
  Diagnostics &diagnostics;
  std::vector<Call> calls; // of functions, blocks and tables

private:
  mlir::MLIRContext &context;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_MESSAGES_H
