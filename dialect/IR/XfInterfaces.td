// What ops say about themselves, so that passes need not name them.
#ifndef XF_INTERFACES_TD
#define XF_INTERFACES_TD

include "mlir/IR/OpBase.td"

def Xf_CausalOpInterface : OpInterface<"CausalOpInterface"> {
  let cppNamespace = "::mlir::xf";
  let description = [{
    How an op's results follow the positions of a decoder's target, and how the op computes them for new positions
    only. An op without this interface may stand in a decoder where it does not depend on the target.
  }];
  let methods = [
    InterfaceMethod<"How the results depend on target positions, given how the operands do.",
                    "::mlir::xf::Dependence", "getDependence", (ins "::mlir::xf::CausalityQuery &":$query), "",
                    [{ return query.join($_op); }]>,
    InterfaceMethod<"Builds the op over new positions and binds its results.",
                    "::llvm::LogicalResult", "buildStep", (ins "::mlir::xf::StepBuilder &":$step), "",
                    [{ step.clone($_op); return ::llvm::success(); }]>
  ];
}

def Xf_StateAccessInterface : OpInterface<"StateAccess"> {
  let cppNamespace = "::mlir::xf";
  let description = [{
    An op that writes or reads one layer of a state.
  }];
  let methods = [
    InterfaceMethod<"The name of the state.", "::llvm::StringRef", "getStateName", (ins), "", [{ return $_op.getName(); }]>,
    InterfaceMethod<"The index of the layer.", "::mlir::Value", "getLayer">
  ];
}

#endif // XF_INTERFACES_TD
