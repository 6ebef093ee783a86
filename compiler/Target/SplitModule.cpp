// Kernels of an instruction set that share micro-kernels belong together, as LLVM compiles a function by what calls it and what it calls.
// Others could stand alone; as each part has its own cost, those that follow each other are put together.
#include "compiler/Target/SplitModule.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace xf::codegen {

/// So many operations are worth a part of their own.
static constexpr size_t kMinOperations = 2000;

static size_t countOperations(Operation *op) {
  size_t count = 0;
  op->walk([&](Operation *) { ++count; });
  return count;
}

/// The classes of symbols that refer to each other, numbered in order of their first ones; by the symbols' indices.
static llvm::IntEqClasses findClasses(ArrayRef<Operation *> symbols) {
  llvm::DenseMap<StringAttr, unsigned> indices;
  for (auto [i, symbol] : llvm::enumerate(symbols))
    indices[SymbolTable::getSymbolName(symbol)] = i;
  llvm::IntEqClasses classes(symbols.size());
  for (auto [i, symbol] : llvm::enumerate(symbols))
    if (auto uses = SymbolTable::getSymbolUses(symbol))
      for (SymbolTable::SymbolUse use : *uses)
        if (auto used = indices.find(use.getSymbolRef().getRootReference()); used != indices.end())
          classes.join(i, used->second);
  classes.compress();
  return classes;
}

std::vector<ModulePart> splitModule(ModuleOp module) {
  SmallVector<Operation *> symbols = llvm::map_to_vector(*module.getBody(), [](Operation &op) { return &op; });
  llvm::IntEqClasses classes = findClasses(symbols);
  std::vector<size_t> operations(classes.getNumClasses());
  for (auto [i, symbol] : llvm::enumerate(symbols))
    operations[classes[i]] += countOperations(symbol);

  std::vector<ModulePart> parts;
  std::vector<size_t> partOf;
  for (size_t count : operations) {
    if (parts.empty() || parts.back().operations >= kMinOperations) {
      parts.push_back({ModuleOp::create(module.getLoc()), 0});
      parts.back().module.get()->setAttrs(module->getAttrDictionary());
    }
    partOf.push_back(parts.size() - 1);
    parts.back().operations += count;
  }
  for (auto [i, symbol] : llvm::enumerate(symbols)) {
    Block *body = parts[partOf[classes[i]]].module->getBody();
    symbol->moveBefore(body, body->end());
  }
  return parts;
}

} // namespace xf::codegen
