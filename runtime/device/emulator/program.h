// PTX as the emulator runs it: functions of decoded instructions on numbered registers.
#ifndef RUNTIME_DEVICE_EMULATOR_PROGRAM_H
#define RUNTIME_DEVICE_EMULATOR_PROGRAM_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace xf::rt::emulator {

constexpr int kLanes = 32;

enum class type : uint8_t { pred, b8, b16, b32, b64, u8, u16, u32, u64, s8, s16, s32, s64, f16, bf16, f32, f64 };
// Bytes in memory.
int size_of(type t);
bool is_float(type t); // with arithmetic of its own

enum class op : uint8_t {
  mov,
  pack,
  unpack,
  add,
  sub,
  mul,
  mul_hi,
  mul_wide,
  mad,
  mad_wide,
  fma,
  div,
  rem,
  min,
  max,
  abs,
  neg,
  copysign,
  sqrt,
  rcp,
  ex2,
  band,
  bor,
  bxor,
  bnot,
  shl,
  shr,
  funnel_left,
  funnel_right,
  extract_bits,
  insert_bits,
  permute,
  logic,
  count_ones,
  leading_zeros,
  select,
  compare,
  convert,
  convert_pair,
  load_param,
  load_global,
  load_shared,
  store_global,
  store_shared,
  branch,
  exit,
  barrier,
  warp_barrier,
  shuffle,
  reduce_lanes,
  ballot,
  start_copy,
  close_copies,
  await_copies,
  load_matrices,
  multiply,
  prefetch,
  start_dependents,
  await_launches
};

enum class comparison : uint8_t { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum class rounding : uint8_t { none, nearest, zero, down, up };
enum class shuffle_mode : uint8_t { exchange, up, down, index };
enum class reduction : uint8_t { min, max };

// Whether lanes exchange values, and wait for those that take part.
inline bool is_exchange(op o) { return o == op::shuffle || o == op::reduce_lanes || o == op::ballot; }

// Registers are numbered by where their 32 lanes lie: in rows of 32 x 4 bytes; 64-bit registers take two.
struct instruction {
  emulator::op op;
  emulator::type type;          // of the sources, or of what is moved
  emulator::type from{};        // convert: the source's
  uint8_t mode = 0;             // comparison, rounding, shuffle_mode, reduction
  uint8_t count = 1;            // elements of a load or store; matrices; bytes of a copy
  uint8_t narrows = 0;          // a bit for each source of a store or a conversion of less than 64 bits that has 64
  bool widens = false;          // a load of less than 64 bits whose targets have 64
  bool negated = false;         // the guard is to be false
  int32_t guard = -1;           // a predicate; -1: always
  int32_t target[4] = {-1, -1, -1, -1};
  int32_t source[10] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  int64_t immediate = 0;        // offset of an address; instruction to branch to; table of `logic`; groups that may be open
  int64_t source_offset = 0;    // start_copy: of the source's address
  int32_t line = 0;             // in the text
};

// A register that holds the same in all lanes, from the start.
struct constant {
  int32_t row;
  int32_t bytes;
  uint64_t value;
};

// Where a variable lies in shared memory. On a GPU they lie next to each other, in any order; here with gaps that nothing may access.
struct shared_range {
  uint64_t begin, end;
};

struct function {
  std::string name;
  std::vector<instruction> code;
  std::vector<constant> constants;
  int32_t rows = 0; // of the register file
  int32_t thread_row = -1, block_row = -1, threads_row = -1, blocks_row = -1, lane_row = -1; // special registers
  uint32_t threads = 0;      // the most a block may have; 0: not said
  uint32_t shared_bytes = 0; // on a GPU
  bool overlaps = false;     // may run while launches before it do, and so may all functions of its module
  bool awaits_launches = false;
  std::vector<shared_range> shared;
  uint32_t parameter_bytes = 0;
};

struct program {
  std::map<std::string, function, std::less<>> functions;
};

// Throws "PTX line N: ..." where the text is not understood.
program parse_ptx(std::string_view text);

} // namespace xf::rt::emulator

#endif
