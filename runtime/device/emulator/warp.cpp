// The control of a warp: which lanes execute what, and how they diverge and reconverge.
#include "runtime/device/emulator/lanes.h"

#include <algorithm>
#include <limits>

namespace xf::rt::emulator {

warp::warp(const launch_state &launch, uint32_t first_thread) : launch_(launch), first_thread_(first_thread) {
  registers_.resize(static_cast<size_t>(launch.code->rows) * kLanes);
  for (const constant &c : launch.code->constants)
    for (int lane = 0; lane < kLanes; ++lane) {
      if (c.bytes == 8)
        row<uint64_t>(c.row)[lane] = c.value;
      else
        row<uint32_t>(c.row)[lane] = static_cast<uint32_t>(c.value);
    }
}

void warp::fill(int32_t register_row, uint32_t (*value)(const warp &, int)) {
  if (register_row < 0)
    return;
  for (int lane = 0; lane < kLanes; ++lane)
    row<uint32_t>(register_row)[lane] = value(*this, lane);
}

void warp::start(uint32_t block) {
  block_ = block;
  const function &code = *launch_.code;
  fill(code.thread_row, [](const warp &w, int lane) { return w.first_thread_ + static_cast<uint32_t>(lane); });
  fill(code.lane_row, [](const warp &, int lane) { return static_cast<uint32_t>(lane); });
  fill(code.block_row, [](const warp &w, int) { return w.block_; });
  fill(code.threads_row, [](const warp &w, int) { return w.launch_.threads; });
  fill(code.blocks_row, [](const warp &w, int) { return w.launch_.blocks; });
  uint32_t threads = std::min<uint32_t>(kLanes, launch_.threads - first_thread_);
  live_ = active_ = threads == kLanes ? ~0u : (1u << threads) - 1;
  pc_ = 0;
  parked_ = 0;
  diverged_ = false;
  awaited_ = code.awaits_launches ? 0 : ~0u;
  reconvergence_pc_ = std::numeric_limits<int64_t>::max();
}

void warp::fail_lane(int lane, const std::string &what) {
  lane_ = lane;
  throw fault{what};
}

void warp::fail_missing(int lane, op where) {
  fail_lane(lane, is_exchange(where)     ? "does not take part in an exchange of its warp"
                  : where == op::barrier ? "does not come to a barrier at which other threads of its warp wait"
                                         : "does not come to a barrier of its warp");
}

uint32_t warp::missing(const instruction &i) {
  if (!is_exchange(i.op))
    return live_ & ~mask_;
  uint32_t named = 0;
  for_lanes(mask_, [&](int lane) { named |= members(i, lane); });
  return named & live_ & ~mask_;
}

void warp::park() {
  for_lanes(active_, [&](int lane) { lane_pcs_[lane] = mask_ >> lane & 1 ? pc_ - 1 : pc_; });
  parked_ |= mask_;
  reconverge();
}

// Chooses the lanes at the first place in the code, among those that do not wait for others.
void warp::reconverge() {
  pc_ = reconvergence_pc_ = std::numeric_limits<int64_t>::max();
  uint32_t going = live_ & ~parked_;
  if (!going) {
    // All wait, at different places: the last lane is missed by the first.
    int first = std::countr_zero(live_), last = 31 - std::countl_zero(live_);
    for_lanes(live_, [&](int lane) { last = lane_pcs_[lane] != lane_pcs_[first] ? lane : last; });
    fail_missing(last, launch_.code->code[lane_pcs_[first]].op);
  }
  for_lanes(going, [&](int lane) { pc_ = std::min(pc_, lane_pcs_[lane]); });
  active_ = 0;
  for_lanes(live_, [&](int lane) {
    if (lane_pcs_[lane] == pc_)
      active_ |= 1u << lane;
    else
      reconvergence_pc_ = std::min(reconvergence_pc_, lane_pcs_[lane] >= pc_ ? lane_pcs_[lane] : std::numeric_limits<int64_t>::max());
  });
  parked_ &= ~active_;
}

void warp::branch(const instruction &i) {
  if (mask_ == 0)
    return;
  if (mask_ == active_ && active_ == live_) {
    pc_ = i.immediate;
    return;
  }
  for_lanes(active_, [&](int lane) { lane_pcs_[lane] = mask_ >> lane & 1 ? i.immediate : pc_; });
  diverged_ = true;
  reconverge();
}

void warp::leave() {
  if (uint32_t early = mask_ & ~awaited_)
    fail_lane(std::countr_zero(early), "ends without having waited for the launches before");
  if (mask_ && parked_)
    fail_missing(std::countr_zero(mask_), launch_.code->code[lane_pcs_[std::countr_zero(parked_)]].op);
  live_ &= ~mask_;
  for_lanes(active_ & ~mask_, [&](int lane) { lane_pcs_[lane] = pc_; });
  if (live_)
    reconverge();
}

warp::stop warp::run(shared_memory &shared) {
  shared_ = &shared;
  const instruction *code = launch_.code->code.data();
  while (live_) {
    if (pc_ == reconvergence_pc_) {
      for_lanes(active_, [&](int lane) { lane_pcs_[lane] = pc_; });
      reconverge();
    }
    const instruction &i = code[pc_++];
    line_ = i.line;
    mask_ = active_;
    if (i.guard >= 0) {
      const uint32_t *guard = row<uint32_t>(i.guard);
      uint32_t holds = 0;
      for (int lane = 0; lane < kLanes; ++lane)
        holds |= static_cast<uint32_t>((guard[lane] != 0) != i.negated) << lane;
      mask_ &= holds;
    }
    switch (i.op) {
    case op::branch:
      branch(i);
      break;
    case op::exit:
      leave();
      break;
    case op::barrier:
    case op::warp_barrier:
    case op::shuffle:
    case op::reduce_lanes:
    case op::ballot:
      if (mask_ && missing(i)) {
        park();
        break;
      }
      if (mask_ == live_)
        diverged_ = false;
      if (i.op == op::barrier && mask_)
        return stop::barrier;
      if (is_exchange(i.op) && mask_)
        execute(i);
      break;
    default:
      if (mask_)
        execute(i);
    }
  }
  return stop::end;
}

void warp::execute(const instruction &i) {
  switch (i.op) {
  case op::close_copies:
    return for_lanes(mask_, [&](int lane) { shared_->close_copies(first_thread_ + static_cast<uint32_t>(lane)); });
  case op::await_copies:
    return for_lanes(mask_, [&](int lane) { shared_->await_copies(first_thread_ + static_cast<uint32_t>(lane), i.immediate); });
  case op::start_dependents:
  case op::prefetch: // nothing is read
    return;
  case op::await_launches:
    awaited_ |= mask_;
    return;
  case op::load_param:
  case op::load_global:
  case op::load_shared:
    return load(i);
  case op::store_global:
  case op::store_shared:
    return store(i);
  case op::start_copy:
    return start_copy(i);
  case op::load_matrices:
    return load_matrices(i);
  case op::multiply:
    return multiply(i);
  case op::shuffle:
    return shuffle(i);
  case op::reduce_lanes:
    return reduce_lanes(i);
  case op::ballot:
    return ballot(i);
  case op::convert:
    return convert(i);
  case op::convert_pair:
    return convert_pair(i);
  case op::permute:
    return permute(i);
  case op::logic:
    return logic(i);
  case op::mov:
  case op::pack:
  case op::unpack:
  case op::select:
  case op::band:
  case op::bor:
  case op::bxor:
  case op::bnot:
  case op::shl:
  case op::funnel_left:
  case op::funnel_right:
  case op::insert_bits:
  case op::count_ones:
  case op::leading_zeros:
    return execute_moves(i);
  default:
    return execute_arithmetic(i);
  }
}

} // namespace xf::rt::emulator
