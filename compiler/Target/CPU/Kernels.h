// The CPU back end's interface: kernels from kernel ops, and objects from modules of them.
//
// A kernel is an xf_abi_kernel_fn. `views` holds what kernelOperands() lists, then the op's results (for append and store: the layer's
// state). It does its thread's share of the work. That of xf.contract has one more view: the weight that is multiplied next, so that it can
// be fetched; data is its first panel, size[0] the number of panels (0: none is known), stride[0] the bytes of one.
#ifndef XF_COMPILER_TARGET_CPU_KERNELS_H
#define XF_COMPILER_TARGET_CPU_KERNELS_H

#include "dialect/IR/Xf.h"
#include "runtime/abi/xf_abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

namespace xf::cpu {

enum class Isa {
  baseline = XF_ABI_BASELINE,
  avx2 = XF_ABI_AVX2,
  avx2_vnni = XF_ABI_AVX2_VNNI,
  avx512 = XF_ABI_AVX512,
  avx512_vnni = XF_ABI_AVX512_VNNI,
  avx512_bf16 = XF_ABI_AVX512_BF16
};
inline constexpr Isa kAllIsas[] = {Isa::baseline, Isa::avx2, Isa::avx2_vnni, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16};
llvm::StringRef isaName(Isa isa);
inline bool hasAvx2(Isa isa) { return isa >= Isa::avx2; }
inline bool hasAvx512(Isa isa) { return isa >= Isa::avx512; }
/// Products of bytes in one instruction.
inline bool hasVnni(Isa isa) { return isa == Isa::avx2_vnni || isa >= Isa::avx512_vnni; }
/// The instruction sets that have a kernel of their own for `op`: the general ones, and those made for its products and conversions.
llvm::SmallVector<Isa> kernelIsas(mlir::Operation *op);

/// A tensor that a kernel reads. Some come with others, which stand behind them in the list. A value loaded from a per-sentence
/// state comes with the slots of its rows: the kernel then reads row slots[b] where the op says b. A state that attention appends to
/// comes with what is appended and the rows' past lengths.
struct KernelOperand {
  mlir::Value value;
  bool isCompanion = false;
};

/// The tensors that kernel op `op` reads: its tensor operands in order, then tensors that its regions capture in
/// order of first use, each with what it comes with. Duplicates of captured values are listed once.
llvm::SmallVector<KernelOperand> kernelOperands(mlir::Operation *op);
/// What makes `value`, if that is an xf.append that leaves a single position to its reader `op`; else null.
mlir::xf::AppendOp appendedBy(mlir::Operation *op, mlir::Value value);

/// What is known when compiling about how a kernel's views lie in memory.
struct KernelAccess {
  llvm::SmallVector<int64_t> lastStride; // of each view, of its last dimension: 1, another constant, or ShapedType::kDynamic. Packed layouts have 1
  bool weightsStream = false; // whether products find no weights in the caches, as other products read more than these hold in between
};

/// Adds the kernel of `op` as function `name` to `module` (dialects llvm, scf, arith, math, vector). `root` is the
/// module that `op` lives in (bounds of dimensions, states).
mlir::LogicalResult emitKernel(mlir::ModuleOp module, llvm::StringRef name, mlir::Operation *op,
                               const KernelAccess &access, Isa isa, mlir::ModuleOp root);

/// Bytes of scratch that one thread needs for `op`, at the module's bounds.
int64_t kernelScratchBytes(mlir::Operation *op, mlir::ModuleOp root);

/// What a product multiplies: i8 is unsigned bytes with signed ones, i16 signed words of 16 bits, their sums are i32; all others' are
/// f32. i8_weights is f32 with signed bytes.
enum class Factor { f32, bf16, i8, i8_weights, i16 };
Factor factorOf(mlir::Type x, mlir::Type weight);
/// The least instruction set that multiplies as `isa` does: kernels of those above share its products.
Isa productIsa(Isa isa, Factor factor);

/// What a product multiplies rows by: panels of 16 columns, B[n/16][k/g][n%16][k%g] with g = 1 for f32, 2 for bf16 and i16, 4 for i8.
struct PanelKind {
  Factor factor = Factor::f32;
  int64_t tail = 0;  // elements (< g) behind the whole groups of k
  int64_t pitch = 1; // panels from one group to the next; if more than 1, so many panels lie side by side: B[k/g][n/16][n%16][k%g]
  bool streams = false; // panels come from memory, not from a cache; of pitch 1
};

/// The micro-kernel C[m, n] = Σ_k A[m, k] * B[k, n] for m < rows, n < 16 * panels, k ascending from 0:
/// `void(ptr a, i64 lda, ptr b, i64 panelStride, ptr c, i64 ldc, i64 k, ptr ahead, i64 aheadPanel, i64 aheadStep, i1 goesOn)`, strides in
/// elements, A's and C's last stride 1, `k` the number of whole groups; if it goes on, C's sums are added to (not with i8_weights). Meanwhile it
/// asks the second-level cache, for each panel and each k, for the line `ahead + panel * aheadPanel + k * aheadStep` (in bytes), or where it
/// streams a panel, the first-level cache for what stands behind that.
/// Where rows are widened, A is of f32, whole groups.
/// Declared and defined in `module` on first use.
mlir::LLVM::LLVMFuncOp getMicroKernel(mlir::ModuleOp module, Isa isa, const PanelKind &kind, int64_t rows, int64_t panels);
/// The largest tile (rows x panels) that stays in registers.
struct Tile {
  int64_t rows, panels;
};
Tile largestTile(Isa isa, Factor factor = Factor::f32);
/// Whether `isa` multiplies `factor` as f32, from rows that are made f32 before a block's products begin.
bool widensRows(Isa isa, Factor factor);
/// Rows from which micro-kernels fetch what comes next themselves: the arithmetic then takes long enough to hide memory behind
/// it. With fewer, whose panels are in a cache unless they stream, there is nothing to gain.
int64_t fetchingRows(Isa isa, Factor factor);
/// Whether `rows` rows take panels that come from memory one by one, as a single run of lines, which memory gives fastest.
bool streamsPanels(Isa isa, int64_t rows, const PanelKind &kind);
/// Panels to take at once for `rows` rows, so that enough independent chains hide the instruction's latency.
int64_t panelsFor(Isa isa, int64_t rows, const PanelKind &kind);

/// Machine code, placed: one block without relocations or undefined symbols.
struct Code {
  llvm::SmallVector<char, 0> bytes;
  llvm::StringMap<uint64_t> symbols; // offsets of the functions
};

/// Lowers `module` to LLVM and compiles it. Functions named `NAME.avx2`, `NAME.avx512` … get that target's features, all
/// others the baseline's. On failure `error` says why.
mlir::FailureOr<std::unique_ptr<llvm::MemoryBuffer>> emitObject(mlir::ModuleOp module, std::string &error);
/// The same module as LLVM IR or assembly text.
mlir::FailureOr<std::string> emitLLVM(mlir::ModuleOp module, std::string &error);
mlir::FailureOr<std::string> emitAssembly(mlir::ModuleOp module, std::string &error);
/// Places an object's sections one behind the other and resolves its relocations.
mlir::FailureOr<Code> linkObject(llvm::MemoryBufferRef object, std::string &error);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_KERNELS_H
