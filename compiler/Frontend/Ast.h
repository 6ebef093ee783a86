// The syntax tree of a description. Plain data: the parser fills it, the evaluator reads it.
#ifndef XF_COMPILER_FRONTEND_AST_H
#define XF_COMPILER_FRONTEND_AST_H

#include "compiler/Frontend/Source.h"

#include <memory>
#include <optional>

namespace xf::frontend {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;

/// One dimension in a shape: an expression, or `..`; an entry may bound it (`S <= 512`).
struct DimExpr {
  Loc loc;
  ExprPtr size; // null: `..`
  ExprPtr bound;
};

/// `int`, `f32[B, S]`, …
struct TypeExpr {
  Loc loc;
  std::string name;
  bool hasShape = false;
  std::vector<DimExpr> dims;
};

struct Param {
  Loc loc;
  std::string name;
  std::optional<TypeExpr> type;
  ExprPtr choices; // of a block's: the values that it may have; null: any
  ExprPtr value; // its default
  std::vector<std::string> configPaths; // of a block's: where a configuration may have it, the first path found counts; none: its name
  ExprPtr below; // of a table's index: `i < d`
};

struct Argument {
  Loc loc;
  std::string name; // empty: by position
  ExprPtr value;
};

enum class ExprKind {
  Integer,
  Float,
  String,
  Name, // text
  Unary,    // text, operands[0]
  Binary,   // text, operands[0..1]
  Member,   // operands[0] . text
  Call,     // operands[0] ( arguments )
  Index,    // operands[0] [ operands[1..] ]
  Slice,    // operands: start, stop, step; each may be null
  Ellipsis, // `..` in an index
  List,     // [operands]
  Tuple,    // operands
  If,       // if operands[0] then operands[1] else operands[2]
  Lambda,   // (params) -> operands[0]
  Scan,     // scan text along operands[0] { body }, or … reversed { body }
};

struct Expr {
  ExprKind kind;
  Loc loc;
  unsigned depth = 1; // of the tree from here on
  std::string text;
  int64_t integer = 0;
  double real = 0;
  bool isReversed = false; // a scan
  std::vector<ExprPtr> operands;
  std::vector<Argument> arguments;
  std::vector<Param> params;
  std::vector<Stmt> body;
};

enum class StmtKind { Assign, Return, If, For, State, Yield };

struct Target {
  Loc loc;
  std::string name;
};

struct Stmt {
  StmtKind kind;
  Loc loc;
  std::vector<Target> targets; // Assign, For, State
  ExprPtr value;               // the assigned or returned value, the condition, the list
  std::vector<Stmt> body, otherwise;
};

enum class FunctionKind { Function, Method, Mask, Bias, Table, Entry };

/// Everything with parameters and a body.
struct Function {
  FunctionKind kind = FunctionKind::Function;
  Loc loc;
  std::string name;
  std::vector<Param> params;
  std::vector<Param> indices; // of masks, biases and tables
  std::vector<Target> results; // of entries
  ExprPtr expr;               // `= expr`
  std::vector<Stmt> body;     // or `{ … }`
  std::optional<std::string> path; // of tables: `as "…"`
};

enum class ItemKind { Weight, Member, Method, If, Directive };

/// A declaration, condition or directive in a block.
struct Item {
  ItemKind kind;
  Loc loc;
  std::vector<Target> names;       // Weight, Member
  TypeExpr type;                   // Weight
  ExprPtr value;                   // Member: its block; If: the condition; Directive: the call
  std::optional<std::string> path; // `as "…"`
  std::unique_ptr<Function> method;
  std::vector<Item> items, otherwise;
};

struct Block {
  Loc loc;
  std::string name;
  bool isModel = false;
  std::vector<Param> params;
  std::vector<Item> items;
};

struct Constant {
  Loc loc;
  std::string name;
  ExprPtr value;
};

/// import "path"
struct Import {
  Loc loc;
  std::string path;
};

struct File {
  std::vector<Import> imports;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<Constant> constants;
};

} // namespace xf::frontend

#endif // XF_COMPILER_FRONTEND_AST_H
