// The best few of many logits, in memory.
#ifndef XF_COMPILER_TARGET_CPU_CANDIDATELIST_H
#define XF_COMPILER_TARGET_CPU_CANDIDATELIST_H

#include "compiler/Target/CodeBuilder.h"

namespace xf::cpu {

/// `wanted` entries for a logit (f32) and its token (i32), largest logit first, of equal ones the lowest token; free entries hold
/// -inf and -1.
struct CandidateList {
  mlir::Value values, tokens, wanted;
};

/// Empties the first `count` entries, at least the `wanted` ones.
void clearList(CodeBuilder &b, const CandidateList &list, mlir::Value count);
/// The logit that another must exceed to get in; one that equals it gets in if its token is lower.
mlir::Value worstOf(CodeBuilder &b, const CandidateList &list);
/// Inserts a logit if it is better than the worst one.
void offer(CodeBuilder &b, const CandidateList &list, mlir::Value logit, mlir::Value token);

} // namespace xf::cpu

#endif // XF_COMPILER_TARGET_CPU_CANDIDATELIST_H
