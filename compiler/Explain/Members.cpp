#include "compiler/Explain/Members.h"

#include "compiler/Target/KernelOperands.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::xf;

namespace xf {

static bool isView(Operation *op) { return isa<RearrangeOp, SliceOp, PackOp, SpreadOp, AppendOp>(op); }

Operation *producerOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isView(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

void collectUsers(Value value, llvm::SetVector<Operation *> &users) {
  for (Operation *user : value.getUsers()) {
    Operation *top = value.getParentBlock()->findAncestorOpInBlock(*user);
    if (top && isView(top) && top->getOperand(0) == value)
      collectUsers(top->getResult(0), users);
    else if (top)
      users.insert(top);
  }
}

/// "a.b" of "a.b.c" and "a.b.d".
static std::string commonPath(StringRef a, StringRef b) {
  SmallVector<StringRef> left, right, common;
  a.split(left, '.');
  b.split(right, '.');
  for (auto [x, y] : llvm::zip(left, right)) {
    if (x != y)
      break;
    common.push_back(x);
  }
  return llvm::join(common, ".");
}

SmallVector<StringRef> membersOf(Value value, ModuleOp module) {
  SmallVector<StringRef> members;
  auto add = [&](ParamOp part) { members.push_back(part.getName().rsplit('.').first); };
  auto param = value.getDefiningOp<ParamOp>();
  if (!param)
    return members;
  if (auto weight = module.lookupSymbol<WeightOp>(param.getNameAttr()))
    weight.walk(add);
  else if (auto parameter = module.lookupSymbol<ParameterOp>(param.getNameAttr()); parameter && parameter.getPath())
    add(param);
  return members;
}

/// The path of the member, or of the one around the members, whose parameters the op reads, if it reads any.
static std::optional<std::string> ownPath(Operation *op, ModuleOp module) {
  SmallVector<Value> read;
  if (auto contract = dyn_cast<ContractOp>(op))
    read.push_back(contract.getWeight());
  else if (auto choose = dyn_cast<ChooseOp>(op))
    read.push_back(choose.getWeight());
  else if (!isa<AttendOp, RepeatOp>(op)) // the table of a bias may be another block's
    for (const codegen::KernelOperand &operand : codegen::kernelOperands(op))
      read.push_back(operand.value);
  std::optional<std::string> path;
  for (Value value : read)
    for (StringRef member : membersOf(value, module))
      path = path ? commonPath(*path, member) : member.str();
  return path;
}

std::string memberOf(Operation *op, ModuleOp module) {
  if (auto own = ownPath(op, module))
    return *own;
  llvm::SetVector<Operation *> neighbours;
  for (Value operand : op->getOperands())
    if (Operation *producer = producerOf(operand); producer && producer != op)
      neighbours.insert(producer);
  for (Value result : op->getResults())
    collectUsers(result, neighbours);
  SmallVector<std::string> paths;
  for (Operation *neighbour : neighbours)
    if (auto path = ownPath(neighbour, module))
      paths.push_back(std::move(*path));
  if (paths.empty())
    return "";
  // A row op beside a single product is not in the product's member, but in the one around it.
  if (paths.size() == 1 && isa<RowOp>(op))
    return StringRef(paths[0]).contains('.') ? StringRef(paths[0]).rsplit('.').first.str() : "";
  std::string around = paths[0];
  for (StringRef path : ArrayRef(paths).drop_front())
    around = commonPath(around, path);
  return around;
}

} // namespace xf
