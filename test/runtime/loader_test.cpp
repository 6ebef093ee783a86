// Images that are cut short, damaged, or of another version give an error, never a crash.
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/session.h"
#include "runtime/include/xf/xf.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <random>

#include <sched.h>
#include <unistd.h>

// The linker sends calls of sched_getaffinity here (--wrap): a machine of `machine_cpus` CPUs, 0 for this one, of which the
// process may use the last kUsable.
namespace {
int machine_cpus = 0;
constexpr int kUsable = 700;
} // namespace
extern "C" int __real_sched_getaffinity(pid_t, size_t, cpu_set_t *);
extern "C" int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set) {
  if (machine_cpus == 0)
    return __real_sched_getaffinity(process, size, set);
  if (size * 8 < static_cast<size_t>(machine_cpus)) {
    errno = EINVAL; // as the kernel says of a set that is too small for its CPUs
    return -1;
  }
  CPU_ZERO_S(size, set);
  for (int cpu = machine_cpus - kUsable; cpu < machine_cpus; ++cpu)
    CPU_SET_S(cpu, size, set);
  return 0;
}

namespace {

std::string temporary(const std::string &name) { return testing::TempDir() + "xf-" + std::to_string(getpid()) + "-" + name; }

// Opens the image in memory; the message, or "" when it opened. What is wrong with an image has one status, whatever it is.
std::string open_message(const std::vector<uint8_t> &bytes) {
  sample::aligned_bytes image(bytes);
  xf_model *model = nullptr;
  if (xf_status status = xf_open_memory(image.data(), image.size(), &model); status != XF_OK) {
    EXPECT_EQ(status, XF_BAD_IMAGE) << xf_message();
    EXPECT_EQ(model, nullptr);
    return xf_message();
  }
  xf_limits limits = {};
  limits.size = sizeof(limits);
  xf_get_limits(model, &limits);
  for (int32_t entry = 0; entry < xf_entry_count(model); ++entry)
    for (int32_t input = 0; input < xf_input_count(model, entry); ++input) {
      xf_tensor_info info;
      EXPECT_EQ(xf_input_info(model, entry, input, &info), XF_OK);
    }
  xf_model_free(model);
  return "";
}

template <typename F> std::string with_header(F &&change, sample::options o = {}) {
  std::vector<uint8_t> bytes = sample::build(o);
  xf_abi_image header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  sample::seal(bytes);
  return open_message(bytes);
}

TEST(loader, opens_every_kind) {
  for (sample::kind kind :
       {sample::kind::translator, sample::kind::sequence_first, sample::kind::continuer, sample::kind::tagger, sample::kind::pooler}) {
    sample::options o;
    o.model = kind;
    EXPECT_EQ(open_message(sample::build(o)), "");
  }
}

TEST(loader, wants_images_at_multiples_of_64_bytes) {
  std::vector<uint8_t> image = sample::build({});
  sample::aligned_bytes room(std::vector<uint8_t>(image.size() + 64));
  for (size_t offset : {0, 1, 32, 64}) {
    std::copy(image.begin(), image.end(), room.data() + offset);
    xf_model *model = nullptr;
    bool fits = offset % 64 == 0;
    EXPECT_EQ(xf_open_memory(room.data() + offset, image.size(), &model), fits ? XF_OK : XF_INVALID_ARGUMENT) << offset;
    EXPECT_EQ(model != nullptr, fits);
    if (!fits)
      EXPECT_STREQ(xf_message(), "the image in memory must start at a multiple of 64 bytes");
    xf_model_free(model);
  }
}

TEST(loader, waits_for_no_pipe) {
  std::string path = testing::TempDir() + "pipe-" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  xf_model *model = nullptr;
  EXPECT_EQ(xf_open(path.c_str(), &model), XF_IO);
  EXPECT_EQ(xf_message(), path + ": not a file");
  std::remove(path.c_str());
}

TEST(loader, refuses_every_truncation) {
  for (sample::kind kind : {sample::kind::translator, sample::kind::tagger}) {
    sample::options o;
    o.model = kind;
    std::vector<uint8_t> image = sample::build(o);
    for (size_t size = 0; size < image.size(); size += size < 4096 ? 1 : 97) {
      std::vector<uint8_t> part(image.begin(), image.begin() + static_cast<ptrdiff_t>(size));
      EXPECT_NE(open_message(part).find("cut short"), std::string::npos) << size;
    }
  }
}

// The length says that the image is whole, its ranges lie beyond.
TEST(loader, refuses_every_truncation_that_lies_about_it) {
  std::vector<uint8_t> image = sample::build({});
  for (size_t size = sizeof(xf_abi_image); size < image.size(); size += size < 4096 ? 1 : 97) {
    std::vector<uint8_t> part(image.begin(), image.begin() + static_cast<ptrdiff_t>(size));
    reinterpret_cast<xf_abi_image *>(part.data())->image_size = size;
    EXPECT_NE(open_message(part).find("damaged"), std::string::npos) << size;
  }
}

TEST(loader, survives_random_damage) {
  std::mt19937 random(1);
  for (sample::kind kind : {sample::kind::translator, sample::kind::continuer, sample::kind::tagger}) {
    sample::options o;
    o.model = kind;
    o.aligns = true;
    const std::vector<uint8_t> image = sample::build(o);
    // The header, and the tables after it; not the code and the weights, which mean nothing to the loader. Where the checksum
    // is right all the same, the loader has to find what matters by itself.
    uint64_t end = reinterpret_cast<const xf_abi_image *>(image.data())->code.offset;
    int opened = 0;
    for (int i = 0; i < 8000; ++i) {
      std::vector<uint8_t> damaged = image;
      for (int flips = 1 + i % 3; flips > 0; --flips)
        damaged[i % 2 ? random() % sizeof(xf_abi_image) : random() % end] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
      if (i % 4 < 2)
        sample::seal(damaged);
      bool opens = open_message(damaged).empty();
      EXPECT_FALSE(opens && i % 4 >= 2 && damaged != image) << "a damaged image was opened";
      opened += opens;
    }
    EXPECT_LT(opened, 8000);
  }
}

// Changes of what the checksum multiplies last must not cancel each other out.
TEST(loader, notices_damage_of_two_words) {
  std::mt19937 random(1);
  const std::vector<uint8_t> image = sample::build({});
  uint64_t begin = sizeof(xf_abi_image) / 8, end = reinterpret_cast<const xf_abi_image *>(image.data())->weights.offset / 8;
  for (int i = 0; i < 4000; ++i) {
    std::vector<uint8_t> damaged = image;
    for (int word = 0; word < 2; ++word)
      damaged[8 * (begin + random() % (end - begin)) + 7] ^= static_cast<uint8_t>(1 + random() % 255);
    if (damaged != image) {
      ASSERT_NE(open_message(damaged), "");
    }
  }
}

TEST(loader, says_what_is_wrong) {
  EXPECT_EQ(with_header([](auto &h) { h.abi_version = 99; }), "image in memory: compiled for version 99 of the runtime interface; this is version " +
                                                                  std::to_string(XF_ABI_VERSION) + ": compile again");
  std::vector<uint8_t> damaged = sample::build({});
  damaged[reinterpret_cast<const xf_abi_image *>(damaged.data())->code.offset] ^= 1;
  EXPECT_EQ(open_message(damaged), "image in memory: damaged: its checksum is another");
  EXPECT_EQ(with_header([](auto &h) { h.magic[0] = 'Y'; }), "image in memory: not a compiled model");
  EXPECT_EQ(with_header([](auto &h) { h.image_size -= 8; }), "image in memory: damaged: the file is longer than it says");
  EXPECT_EQ(with_header([](auto &h) { h.code.offset += 8; }), "image in memory: damaged: the code is not page aligned");
  EXPECT_EQ(with_header([](auto &h) { h.dims.offset += 1; }), "image in memory: damaged: the table of dimensions is not aligned");
  EXPECT_EQ(with_header([](auto &h) { h.dims.count = uint64_t(1) << 61; }),
            "image in memory: damaged: past the end of the image: the table of dimensions");
  EXPECT_EQ(with_header([](auto &h) { h.weights.size = ~uint64_t(0); }), "image in memory: damaged: past the end of the image: the weights");
  EXPECT_EQ(with_header([](auto &h) { h.generate.step = 0; }), "image in memory: damaged: the search has no such step entry");
  EXPECT_EQ(with_header([](auto &h) { h.generate.target = 41; }),
            "image in memory: damaged: the limits of the search are beyond those of its dimensions");
  auto with_state = [](auto &&damage) {
    std::vector<uint8_t> image = sample::build({});
    damage(*reinterpret_cast<xf_abi_state *>(image.data() + reinterpret_cast<const xf_abi_image *>(image.data())->states.offset));
    sample::seal(image);
    return open_message(image);
  };
  std::string shape = "image in memory: damaged: a state has an absurd shape";
  EXPECT_EQ(with_state([](auto &) {}), "");
  EXPECT_EQ(with_state([](auto &s) { s.size[0] = XF_ABI_MAX_SIZE, s.layers = uint64_t(1) << 32; }), shape);
  EXPECT_EQ(with_state([](auto &s) { s.size[0] = -6; }), shape);
  EXPECT_EQ(with_state([](auto &s) { s.size[1] = 5; }), shape) << "moves need room for all positions";
  EXPECT_EQ(with_state([](auto &s) { s.multiple[1] = 3; }), shape);
  EXPECT_EQ(with_state([](auto &s) { s.positions = 2; }), shape);
  EXPECT_EQ(with_state([](auto &s) { s.layers = 0; }), shape);
  EXPECT_EQ(with_state([](auto &s) { s.dtype = XF_ABI_DTYPE_COUNT; }), shape);
  EXPECT_EQ(with_header([](auto &h) { h.generate.end = 11; }), "image in memory: damaged: the search's special tokens are not tokens");
  EXPECT_EQ(with_header([](auto &h) { h.generate.more_ends_count = 1, h.generate.more_ends[0] = 11; }),
            "image in memory: damaged: the search's special tokens are not tokens");
  EXPECT_EQ(with_header([](auto &h) { h.generate.more_ends_count = 8; }), "image in memory: damaged: the search's special tokens are not tokens");
  EXPECT_EQ(with_header([](auto &h) { h.generate.max_length_base = -1; }), "image in memory: damaged: the search's lengths are impossible");
  EXPECT_EQ(with_header([](auto &h) { h.generate.pad = 99; }), "image in memory: damaged: the padding is no token");
  sample::options shared;
  shared.pad = 25, shared.begin_bound = 20;
  EXPECT_EQ(open_message(sample::build(shared)), "image in memory: damaged: the padding is no token");
  EXPECT_EQ(with_header([](auto &h) { h.text.suffix_count = 9; }), "image in memory: damaged: too many prefix or suffix tokens");
}

// The message where one of the model's last tensors is damaged.
template <typename F> std::string with_last_tensors(const sample::options &o, uint64_t last, uint64_t index, F &&damage) {
  std::vector<uint8_t> image = sample::build(o);
  const xf_abi_table tensors = reinterpret_cast<const xf_abi_image *>(image.data())->tensors;
  damage(reinterpret_cast<xf_abi_tensor *>(image.data() + tensors.offset)[tensors.count - last + index]);
  sample::seal(image);
  return open_message(image);
}

TEST(loader, refuses_a_twin_that_does_not_fit) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.packed = true;
  const std::string problem = "image in memory: damaged: an entry and its twin without padding do not fit together";
  EXPECT_EQ(open_message(sample::build(o)), "");
  for (int index : {-2, 0, 1, 99})
    EXPECT_EQ(with_header([index](auto &h) { h.predict.packed = index; }, o), problem) << index;
  // The twin's tensors are the last ones: src, xf.tokens, xf.positions, xf.spans, vector.
  auto with_tensor = [&](uint64_t index, auto &&damage) { return with_last_tensors(o, 5, index, damage); };
  for (uint64_t index = 0; index < 5; ++index) {
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dtype ^= 1; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.rank -= 1; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dim[t.rank - 1] = 7; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dim[0] = -3; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.name.size -= 1; }), problem) << index;
  }
  std::vector<uint8_t> image = sample::build(o);
  const xf_abi_table dims = reinterpret_cast<const xf_abi_image *>(image.data())->dims;
  reinterpret_cast<xf_abi_dim *>(image.data() + dims.offset)[dims.count - 1].max -= 1;
  sample::seal(image);
  EXPECT_EQ(open_message(image), problem) << "all sentences may have their longest";
}

TEST(loader, refuses_types_that_do_not_fit) {
  sample::options o;
  o.model = sample::kind::pooler;
  o.pairs = true;
  EXPECT_EQ(open_message(sample::build(o)), "");
  for (int index : {-2, 2, 99})
    EXPECT_EQ(with_header([index](auto &h) { h.predict.types = index; }, o), "image in memory: damaged: there are no such types to predict with")
        << index;
  EXPECT_EQ(with_header([](auto &h) { h.text.between_count = 9; }, o), "image in memory: damaged: too many prefix or suffix tokens");
  EXPECT_EQ(with_header([](auto &h) { h.text.between[0] = -1; }, o), "image in memory: damaged: a token between texts is not one");
  // The last tensors: src, types, vector.
  EXPECT_EQ(with_last_tensors(o, 3, 1, [](auto &t) { t.bound = 1; }), "image in memory: damaged: the types are no tokens");
  o.packed = true;
  EXPECT_EQ(open_message(sample::build(o)), "");
  const std::string problem = "image in memory: damaged: an entry and its twin without padding do not fit together";
  EXPECT_EQ(with_header([](auto &h) { h.predict.types = -1; }, o), problem);
  // src, types, xf.tokens, xf.positions, xf.spans, xf.types, vector
  EXPECT_EQ(with_last_tensors(o, 7, 5, [](auto &t) { t.dim[1] = 7; }), problem);
  EXPECT_EQ(with_last_tensors(o, 7, 5, [](auto &t) { t.dtype ^= 1; }), problem);
  EXPECT_EQ(with_last_tensors(o, 7, 5, [](auto &t) { t.name.size -= 1; }), problem);
}

TEST(loader, refuses_an_alignment_that_does_not_fit) {
  sample::options o;
  o.aligns = true;
  const std::string problem = "image in memory: damaged: the entry that aligns results has other arguments than the search can give";
  EXPECT_EQ(open_message(sample::build(o)), "");
  for (int index : {-2, 0, 1, 2, 3, 99})
    EXPECT_EQ(with_header([index](auto &h) { h.generate.align = index; }, o), problem) << index;
  // The last tensors: tgt, memory, weights.
  auto with_tensor = [&](uint64_t index, auto &&damage) { return with_last_tensors(o, 3, index, damage); };
  EXPECT_EQ(with_tensor(0, [](auto &t) { t.bound -= 1; }), problem);
  for (uint64_t index = 0; index < 3; ++index) {
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dtype ^= 1; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.rank -= 1; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dim[t.rank - 1] = 7; }), problem) << index;
    EXPECT_EQ(with_tensor(index, [](auto &t) { t.dim[0] = -4; }), problem) << index;
  }
  EXPECT_EQ(with_tensor(0, [](auto &t) { t.name.size -= 1; }), problem);
  EXPECT_EQ(with_tensor(1, [](auto &t) { t.name.size -= 1; }), problem);
}

TEST(loader, finds_the_image_in_what_carries_it) {
  std::vector<uint8_t> image = sample::build({}), elf = sample::read_file("/proc/self/exe");
  elf.resize(5000);
  std::string bare = temporary("bare"), program = temporary("program");
  sample::write_file(bare, image);
  xf_model *model = nullptr;
  ASSERT_EQ(xf_open(bare.c_str(), &model), XF_OK) << xf_message();
  EXPECT_STREQ(xf_model_name(model), "sample");
  uint64_t size = 0;
  const void *ir = xf_model_ir(model, &size);
  EXPECT_EQ(std::string(static_cast<const char *>(ir), size), "module {}");
  EXPECT_EQ(xf_model_ir(nullptr, &size), nullptr);
  EXPECT_EQ(size, 0u);
  xf_model_free(model);

  std::vector<uint8_t> whole = sample::attach(elf, image);
  sample::write_file(program, whole);
  ASSERT_EQ(xf_open(program.c_str(), &model), XF_OK) << xf_message();
  xf_model_free(model);

  auto message = [&](const std::vector<uint8_t> &bytes) {
    sample::write_file(program, bytes);
    EXPECT_EQ(xf_open(program.c_str(), &model), XF_BAD_IMAGE);
    return std::string(xf_message());
  };
  EXPECT_EQ(message(elf), program + ": holds no compiled model (cut short, or a runner without one)");
  for (size_t cut : {size_t(1), size_t(24), size_t(25), image.size(), image.size() + 100}) {
    std::vector<uint8_t> part(whole.begin(), whole.end() - static_cast<ptrdiff_t>(cut));
    EXPECT_EQ(message(part), program + ": holds no compiled model (cut short, or a runner without one)");
  }
  std::vector<uint8_t> moved = whole;
  moved[moved.size() - 16] ^= 1;
  EXPECT_EQ(message(moved), program + ": damaged: the trailer does not fit the file");
  EXPECT_EQ(message({'h', 'e', 'l', 'l', 'o'}), program + ": neither a compiled program nor a compiled model");
  EXPECT_EQ(message({}), program + ": neither a compiled program nor a compiled model");
  EXPECT_EQ(xf_open("/nowhere/model", &model), XF_IO);
  EXPECT_STREQ(xf_message(), "/nowhere/model: No such file or directory");
  EXPECT_EQ(xf_open("/", &model), XF_IO);
  unlink(bare.c_str());
  unlink(program.c_str());
}

TEST(loader, reads_where_parameters_lie) {
  sample::aligned_bytes image(sample::build({}));
  std::shared_ptr<const xf::rt::model> m = xf::rt::open_model(image.data(), image.size());
  ASSERT_EQ(m->parameters().size(), 3u);
  EXPECT_EQ(m->parameters()[1].path, "k.weight");
  const xf_abi_segment &k = m->parameters()[1].segments[0];
  EXPECT_EQ(k.weight_row, 3u);
  auto *packed = reinterpret_cast<const float *>(m->weights() + k.weight_offset);
  EXPECT_EQ(packed[2 * 16 + 4], 42.0f); // row 1 of k is row 4 of the packed matrix; column 2
}

std::string isa_message(std::vector<int> available, int best, int requested, bool avx_vnni = false, bool slow_bf16 = false) {
  try {
    return std::to_string(xf::rt::choose_isa(available, {best, avx_vnni, slow_bf16}, requested));
  } catch (const xf::rt::error &problem) {
    return problem.what();
  }
}

TEST(cpu, counts_the_cpus_of_large_machines) {
  int counted[2];
  for (int large : {0, 1}) {
    machine_cpus = large ? 5000 : 1024;
    counted[large] = xf::rt::available_cpus();
  }
  machine_cpus = 0;
  EXPECT_EQ(counted[1], counted[0]); // unless there is a quota, kUsable
  EXPECT_GE(xf::rt::available_cpus(), 1);
}

TEST(cpu, chooses_the_best_instruction_set_that_both_have) {
  EXPECT_EQ(isa_message({0, 1, 3}, 3, -1), "2");
  EXPECT_EQ(isa_message({0, 1, 3}, 1, -1), "1");
  EXPECT_EQ(isa_message({0, 3}, 1, -1), "0");
  EXPECT_EQ(isa_message({0, 1, 3}, 3, 0), "0");
  EXPECT_EQ(isa_message({0, 1, 3}, 1, 3), "this CPU does not support avx512; its best is avx2");
  EXPECT_EQ(isa_message({0, 3}, 3, 1), "the model was compiled without code for avx2");
  EXPECT_EQ(isa_message({3}, 1, -1), "the model was compiled for avx512 and better; this CPU's best is avx2");
  EXPECT_EQ(isa_message({0, 1, 2, 3, 4}, 2, -1, true), "2");
  EXPECT_EQ(isa_message({0, 1, 2}, 4, -1), "1");
  EXPECT_EQ(isa_message({0, 1, 2}, 4, -1, true), "2");
  EXPECT_EQ(isa_message({0, 1, 2, 3, 4}, 4, 2, true), "2");
  EXPECT_EQ(isa_message({0, 1, 2, 3, 4}, 3, -1), "3");
  EXPECT_EQ(isa_message({0, 1, 2, 3, 4}, 4, 2), "this CPU does not support avx2_vnni; its best is avx512_vnni");
  EXPECT_EQ(isa_message({0, 3, 5}, 5, -1), "2");
  EXPECT_EQ(isa_message({0, 3, 5}, 5, -1, false, /*slow_bf16=*/true), "1");
  EXPECT_EQ(isa_message({0, 3, 5}, 5, 5, false, /*slow_bf16=*/true), "2");
  EXPECT_EQ(isa_message({5}, 5, -1, false, /*slow_bf16=*/true), "0");
  EXPECT_EQ(isa_message({0, 1, 3}, -1, -1), "this CPU is too old: an x86-64 CPU with SSE4.2 and POPCNT (x86-64-v2) is needed");
}

} // namespace
