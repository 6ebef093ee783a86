// What became of a model, in the words of its description: the kernels that an entry calls, what each was fused from, why those that one
// would expect to be fused stay apart, and what each costs.
#ifndef XF_COMPILER_EXPLAIN_EXPLANATION_H
#define XF_COMPILER_EXPLAIN_EXPLANATION_H

#include "compiler/Conversion/XfToLLVM/Plan.h"
#include "compiler/Explain/Costs.h"
#include "compiler/Explain/SourceText.h"

#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace xf {

/// A kernel call of a plan, or the head of a stack of layers.
struct ExplainedLine {
  unsigned depth = 0;              // of stacks around it
  int64_t times = 1;               // that it is called, in all
  bool isStack = false;
  std::string kind;                // "product", "row", "attention", ...
  std::string text;                // the expression that it computes, or the stack's statement
  std::string location;            // where it stands: "model.xf:12"
  std::vector<std::string> fused;  // expressions that are computed along with it
  std::string notFused;            // why it is a kernel of its own, where one would expect that it is not
  std::string path;                // of the member whose weights it reads, or its neighbours do: "encoder.layers.self_attn"
  unsigned kernel = 0;             // its index in the file
  Cost cost;                       // of all calls
  double nanoseconds = 0;          // of all calls, where they have been measured
  /// On a GPU, where launches have been counted: `times` launches of `blocks` blocks of `threads` threads.
  struct Launch {
    int64_t times, blocks, threads;
  };
  std::vector<Launch> launches;
  bool isLaunchedWithNext = false; // the launch that computes the next line computes this one, too
};

struct ExplainedEntry {
  std::string name, role; // role: how it is used
  Sizes sizes;
  std::vector<ExplainedLine> lines;
  std::vector<unsigned> order; // the lines of the kernels in the order in which they are called
  double nanoseconds = 0;      // of a call, where it has been measured

  Cost total() const;
  int64_t launches() const;
};

struct Explanation {
  std::string model;
  std::vector<std::string> dims; // whose sizes are printed
  std::vector<ExplainedEntry> entries;
};

/// Sizes by a dimension's name, or by batch, source or target; of several for one dimension the last counts.
using RequestedSizes = std::vector<std::pair<std::string, int64_t>>;

/// Explains the entries that a search or a prediction calls, or all. Sizes that are not given are 1 for the batch, and at most 25 for others.
/// Fails with a message where a dimension is not known or a size beyond its limit.
llvm::Expected<Explanation> explain(mlir::ModuleOp kernelIR, const CodeModule &code, const SourceText &source, const RequestedSizes &requested);

/// `machine` says where times have been measured; empty: they have not.
void print(const Explanation &explanation, llvm::StringRef machine, llvm::raw_ostream &os);

} // namespace xf

#endif // XF_COMPILER_EXPLAIN_EXPLANATION_H
