// Maps, row statistics and look-ups over the same rows become one row kernel.
//
// Ops are taken in order. Each joins the group that made one of its operands if it runs over the same rows and can see
// that operand's row as a whole; else it starts a group of its own. A look-up that only broadcasts into a row (a position's
// row, say) is repeated inside. A group is placed where its last member stands, so nobody in between may use its results.
#include "compiler/Transforms/MapUtils.h"
#include "compiler/Transforms/Passes.h"
#include "dialect/IR/Producers.h"

#include "llvm/ADT/SetVector.h"

namespace xf {
#define GEN_PASS_DEF_XFFORMROWS
#include "compiler/Transforms/Passes.h.inc"
} // namespace xf

using namespace mlir;
using namespace mlir::xf;

namespace {

/// The widest tensor that `op` touches row by row: its rows and their length.
RankedTensorType rowsOf(Operation *op) {
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return typeOf(reduce.getX());
  return typeOf(op->getResult(0));
}

bool isRowOp(Operation *op) {
  if (auto embed = dyn_cast<EmbedOp>(op))
    return dependsOnParametersOnly(embed.getTable()) && !dependsOnParametersOnly(embed);
  return isa<MapOp, ReduceOp>(op) && !dependsOnParametersOnly(op->getResult(0)) && rowsOf(op).getRank() > 0;
}

/// How a member reads operand i, as dimensions of its row space.
SmallVector<int64_t> readMap(Operation *op, unsigned i) {
  if (auto map = dyn_cast<MapOp>(op))
    return SmallVector<int64_t>(map.getMap(i));
  return ::xf::identityMap(typeOf(op->getOperand(i)).getRank());
}

/// Operands that are read row by row; a look-up's table is captured instead.
SmallVector<unsigned> rowOperands(Operation *op) {
  if (isa<EmbedOp>(op))
    return {1};
  return llvm::to_vector(llvm::seq(op->getNumOperands()));
}

struct Group {
  llvm::SmallSetVector<Operation *, 8> members;
  SmallVector<StringRef> names; // of the leading dimensions
  SmallVector<int64_t> leadingSizes;
  int64_t length = 1; // of the rows; 1 as long as only statistics are known
  StringRef lengthName;

  bool fits(RankedTensorType rows) const {
    if (rows.getRank() != static_cast<int64_t>(leadingSizes.size()) + 1)
      return false;
    for (unsigned d = 0; d < leadingSizes.size(); ++d)
      if (leadingSizes[d] != rows.getDimSize(d) || names[d] != getDimName(rows, d))
        return false;
    int64_t last = rows.getShape().back();
    return last == 1 || length == 1 || (last == length && lengthName == getDimName(rows, leadingSizes.size()));
  }
  void add(Operation *op) {
    auto rows = rowsOf(op);
    leadingSizes.assign(rows.getShape().begin(), rows.getShape().end() - 1);
    names = getDimNames(rows);
    if (rows.getShape().back() != 1) {
      length = rows.getShape().back();
      lengthName = names.back();
    }
    names.pop_back();
    members.insert(op);
  }
  /// How many tensors the group would read with `more` members.
  size_t reads(ArrayRef<Operation *> more) const {
    SmallPtrSet<Value, 32> read;
    auto isMember = [&](Operation *op) { return op && (members.contains(op) || llvm::is_contained(more, op)); };
    for (ArrayRef<Operation *> ops : {members.getArrayRef(), more})
      for (Operation *op : ops)
        for (unsigned i : rowOperands(op))
          if (Value value = op->getOperand(i); !isMember(value.getDefiningOp()))
            read.insert(value);
    return read.size();
  }
  /// The member that stands last in the block.
  Operation *last() const {
    return *llvm::max_element(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }
  /// Whether member `op` sees the row of `value`, which another member makes, as a whole.
  bool sees(Operation *op, unsigned operand, Value value) const {
    auto map = readMap(op, operand);
    int64_t rank = leadingSizes.size() + 1;
    if (static_cast<int64_t>(map.size()) != rank)
      return false;
    for (int64_t d = 0; d < rank; ++d)
      if (map[d] != d && !(typeOf(value).getDimSize(d) == 1 && map[d] == -1 && (d == rank - 1 || leadingSizes[d] == 1)))
        return false;
    return true;
  }
};

/// Writes the members of a group as one row kernel.
class RowWriter {
public:
  explicit RowWriter(const Group &group)
      : group(group), members(group.members.begin(), group.members.end()), lastDim(group.leadingSizes.size()), last(group.last()), builder(last) {
    llvm::sort(members, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }

  void run() {
    addInputs();
    findOutside();
    if (outside.empty())
      return; // dead code, left to canonicalisation
    auto row = RowOp::create(builder, last->getLoc(), ValueRange(outside).getTypes(), inputs.values(), inputs.maps(builder));
    openBody(row);
    for (Operation *op : members)
      copy(op);
    YieldOp::create(builder, last->getLoc(), llvm::map_to_vector(outside, [&](Value v) { return rows.lookup(v); }));
    for (auto [old, result] : llvm::zip(outside, row.getResults()))
      old.replaceAllUsesWith(result);
    for (Operation *op : llvm::reverse(members))
      op->erase();
  }

private:
  /// What the group reads from outside.
  void addInputs() {
    for (Operation *op : members)
      for (unsigned i : rowOperands(op))
        if (Operation *def = op->getOperand(i).getDefiningOp(); !def || !group.members.contains(def))
          addInput(op, i);
  }

  void addInput(Operation *op, unsigned i) {
    Value value = op->getOperand(i);
    SmallVector<int64_t> map = readMap(op, i);
    if (EmbedOp lookup = broadcastLookup(op, i)) {
      value = lookup.getIds();
      map.pop_back();
    }
    // Beside longer rows a statistic is one element for each row.
    if (rowsOf(op).getShape().back() == 1 && group.length != 1)
      std::replace(map.begin(), map.end(), lastDim, int64_t(-1));
    auto [moved, rowMap] = rowsLast(value, map);
    inputIndex[{op, i}] = inputs.add(moved, rowMap);
  }

  /// The members' results that are read outside.
  void findOutside() {
    for (Operation *op : members)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !group.members.contains(user); }))
          outside.push_back(result);
  }

  /// A look-up outside the group that the member reads by broadcasting its rows: its ids can be read instead.
  EmbedOp broadcastLookup(Operation *member, unsigned i) {
    auto embed = member->getOperand(i).getDefiningOp<EmbedOp>();
    if (!embed || group.members.contains(embed) || !dependsOnParametersOnly(embed.getTable()))
      return {};
    auto map = readMap(member, i);
    return map.back() == lastDim ? embed : EmbedOp();
  }

  /// The operand as the row op reads it: the dimension that runs along the rows comes last.
  std::pair<Value, SmallVector<int64_t>> rowsLast(Value value, SmallVector<int64_t> map) {
    auto found = llvm::find(map, lastDim);
    if (found == map.end() || found + 1 == map.end())
      return {value, map};
    std::string in, out;
    for (unsigned d = 0; d < map.size(); ++d) {
      std::string axis = "a" + std::to_string(d);
      in += (d ? " " : "") + axis;
      if (&map[d] != found)
        out += axis + " ";
    }
    out += "a" + std::to_string(found - map.begin());
    auto type = typeOf(value);
    SmallVector<int64_t> sizes, newMap;
    SmallVector<StringRef> names;
    for (unsigned d = 0; d < map.size(); ++d)
      if (&map[d] != found) {
        sizes.push_back(type.getDimSize(d));
        names.push_back(getDimName(type, d));
        newMap.push_back(map[d]);
      }
    sizes.push_back(type.getDimSize(found - map.begin()));
    names.push_back(getDimName(type, found - map.begin()));
    newMap.push_back(lastDim);
    auto moved = RearrangeOp::create(builder, value.getLoc(), makeTensor(sizes, names, type.getElementType()), value,
                                     builder.getStringAttr(in + " -> " + out), builder.getDictionaryAttr({}));
    return {moved, newMap};
  }

  RankedTensorType rowType(Type element, bool isFullRow) {
    return makeTensor({isFullRow ? group.length : 1}, {isFullRow ? group.lengthName : StringRef()}, element);
  }

  void openBody(RowOp row) {
    body = &row.getBody().emplaceBlock();
    for (auto [i, value] : llvm::enumerate(inputs.values())) {
      auto map = row.getMap(i);
      body->addArgument(rowType(typeOf(value).getElementType(), !map.empty() && map.back() == lastDim), value.getLoc());
    }
    builder.setInsertionPointToStart(body);
  }

  /// Writes the member as it computes one row.
  void copy(Operation *op) {
    SmallVector<Value> args;
    for (unsigned i : rowOperands(op))
      args.push_back(rowOperand(op, i));
    bool isFullRow = typeOf(op->getResult(0)).getShape().back() != 1;
    SmallVector<Type> types = llvm::map_to_vector(op->getResultTypes(),
                                                  [&](Type t) -> Type { return rowType(cast<RankedTensorType>(t).getElementType(), isFullRow); });
    if (auto map = dyn_cast<MapOp>(op)) {
      rows.map(op->getResults(), copyMap(map, types, args, isFullRow)->getResults());
    } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
      rows.map(op->getResult(0), ReduceOp::create(builder, op->getLoc(), types[0], reduce.getKindAttr(), args[0]).getResult());
    } else {
      rows.map(op->getResult(0), EmbedOp::create(builder, op->getLoc(), types[0], cast<EmbedOp>(op).getTable(), args[0]).getResult());
    }
  }

  /// A row that another member made, one from outside, or one that is looked up here.
  Value rowOperand(Operation *op, unsigned i) {
    auto index = inputIndex.find({op, i});
    if (index == inputIndex.end())
      return rows.lookup(op->getOperand(i));
    Value input = body->getArgument(index->second);
    EmbedOp lookup = broadcastLookup(op, i);
    if (!lookup)
      return input;
    auto looked = typeOf(lookup.getResult());
    return EmbedOp::create(builder, lookup.getLoc(), rowType(looked.getElementType(), looked.getShape().back() != 1), lookup.getTable(), input);
  }

  MapOp copyMap(MapOp map, TypeRange types, ArrayRef<Value> args, bool isFullRow) {
    SmallVector<Attribute> maps;
    for (Value arg : args)
      maps.push_back(builder.getDenseI64ArrayAttr({isFullRow && typeOf(arg).getDimSize(0) == 1 ? -1 : 0}));
    auto copied = MapOp::create(builder, map.getLoc(), types, args, builder.getArrayAttr(maps));
    IRMapping region;
    map.getBody().cloneInto(&copied.getBody(), region);
    return copied;
  }

  const Group &group;
  SmallVector<Operation *> members; // in the order of the block
  int64_t lastDim;                  // the dimension along the rows
  Operation *last;
  OpBuilder builder; // at `last`
  ::xf::MappedInputs inputs;
  DenseMap<std::pair<Operation *, unsigned>, unsigned> inputIndex; // of members' operands from outside
  SmallVector<Value> outside;
  Block *body = nullptr;
  IRMapping rows; // the members' results as rows
};

class BlockGrouper {
public:
  explicit BlockGrouper(Block &block) : block(block) {}

  void run() {
    for (Operation &op : block)
      if (isRowOp(&op))
        assignGroup(&op);
    // Users first: a look-up that they repeat inside is then dead when its own group is written.
    llvm::erase_if(groups, [](auto &group) { return group->members.empty(); });
    llvm::sort(groups, [](auto &a, auto &b) { return b->last()->isBeforeInBlock(a->last()); });
    for (auto &group : groups)
      RowWriter(*group).run();
  }

private:
  /// Whether no op between the group's members and `op` uses their results, except members.
  bool canMoveTo(const Group &group, Operation *op) {
    for (Operation *member : group.members)
      for (Operation *user : member->getUsers()) {
        Operation *ancestor = block.findAncestorOpInBlock(*user);
        if (ancestor != op && !group.members.contains(ancestor) && ancestor->isBeforeInBlock(op))
          return false;
      }
    return true;
  }

  Group *groupOf(Operation *op) {
    auto found = owner.find(op);
    return found == owner.end() ? nullptr : found->second;
  }

  /// Whether `op`, as a member of `group`, would see each row that it reads from `producers` as a whole.
  static bool seesRows(const Group &group, const Group &producers, Operation *op) {
    return llvm::all_of(rowOperands(op), [&](unsigned i) {
      Operation *def = op->getOperand(i).getDefiningOp();
      return !def || !producers.members.contains(def) || group.sees(op, i, op->getOperand(i));
    });
  }

  bool canJoin(const Group &group, Operation *op) {
    return group.fits(rowsOf(op)) && canMoveTo(group, op) && seesRows(group, group, op) && group.reads({op}) <= ::xf::kMaxFusedInputs;
  }

  void assignGroup(Operation *op) {
    for (unsigned i : rowOperands(op)) {
      Operation *def = op->getOperand(i).getDefiningOp();
      Group *group = def ? groupOf(def) : nullptr;
      if (group && canJoin(*group, op)) {
        group->add(op);
        owner[op] = group;
        // Groups that feed the op through other operands join too, where they can move here.
        absorb(*group, op);
        return;
      }
    }
    groups.push_back(std::make_unique<Group>());
    groups.back()->add(op);
    owner[op] = groups.back().get();
    absorb(*groups.back(), op);
  }

  /// Takes other groups that `op` reads and that run over the same rows.
  void absorb(Group &group, Operation *op) {
    for (unsigned i : rowOperands(op)) {
      Operation *def = op->getOperand(i).getDefiningOp();
      Group *other = def ? groupOf(def) : nullptr;
      if (!other || other == &group)
        continue;
      bool fits = llvm::all_of(other->members, [&](Operation *m) { return group.fits(rowsOf(m)); });
      if (!fits || !seesRows(group, *other, op) || !canMoveTo(*other, op) || group.reads(other->members.getArrayRef()) > ::xf::kMaxFusedInputs)
        continue;
      for (Operation *member : other->members) {
        group.add(member);
        owner[member] = &group;
      }
      other->members.clear();
    }
  }

  Block &block;
  SmallVector<std::unique_ptr<Group>> groups;
  DenseMap<Operation *, Group *> owner;
};

struct FormRows : ::xf::impl::XfFormRowsBase<FormRows> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk([&](Operation *op) {
      if (isa<EntryOp, RepeatOp>(op))
        for (Region &region : op->getRegions())
          for (Block &block : region)
            blocks.push_back(&block);
    });
    for (Block *block : blocks)
      BlockGrouper(*block).run();
    // Look-ups that every user has repeated inside are dead.
    getOperation()->walk([&](EmbedOp embed) {
      if (embed->use_empty())
        embed->erase();
    });
  }
};

} // namespace
