// Tensors that are not row-major: whatever their strides, they are read right, little at a time, and no more of the file than it takes.
#include "compiler/Import/TensorFile.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace xf;

namespace {

/// Elements of a type whose bytes follow from where they are, and what is read of them.
class Elements {
public:
  explicit Elements(DType type) : type(type) {}

  std::vector<char> read(const std::vector<int64_t> &shape, const Strides &strides) {
    TensorInfo tensor{"w", type, shape, 0, *byteSize(type, shape)};
    tensor.strides = strides;
    std::vector<char> out(tensor.end);
    auto read = [&](uint64_t first, llvm::MutableArrayRef<char> bytes) {
      ascends &= first >= end;
      end = first + bytes.size();
      total += bytes.size();
      max = std::max<uint64_t>(max, bytes.size());
      for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = byteAt(first + i);
      return llvm::Error::success();
    };
    size_t half = out.size() / 2;
    EXPECT_EQ(llvm::toString(reader.read(tensor, read, half, llvm::MutableArrayRef(out).drop_front(half))), "");
    EXPECT_EQ(llvm::toString(reader.read(tensor, read, 0, llvm::MutableArrayRef(out).take_front(half))), "");
    reader.release(tensor);
    return out;
  }
  /// The same by its definition.
  std::vector<char> expected(const std::vector<int64_t> &shape, const Strides &strides) const {
    std::vector<char> out;
    int64_t size = dtypeSize(type), count = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies());
    for (int64_t flat = 0; flat < count; ++flat) {
      int64_t rest = flat, from = 0;
      for (int d = shape.size() - 1; d >= 0; rest /= shape[d--])
        from += rest % shape[d] * strides[d];
      for (int64_t i = 0; i < size; ++i)
        out.push_back(byteAt(from * size + i));
    }
    return out;
  }

  bool ascends = true;
  uint64_t end = 0, total = 0, max = 0; // bytes

private:
  static char byteAt(uint64_t offset) { return char((offset * 0x9e3779b97f4a7c15) >> 56); }
  DType type;
  RowMajorReader reader;
};

TEST(RowMajorReader, ReadsAnyStrides) {
  std::minstd_rand random(1);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    std::vector<int64_t> shape(random() % 5);
    for (int64_t &size : shape)
      size = 1 + random() % 7;
    // Dimensions in any order, each with some room behind its elements.
    std::vector<size_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    Strides strides(shape.size());
    int64_t stride = random() % 4 == 0 ? 1 + random() % 3 : 1;
    for (size_t d : order) {
      strides[d] = stride;
      stride = stride * shape[d] + (random() % 3 == 0 ? random() % 3000 : 0);
    }
    if (repeat % 10 == 0 && !strides.empty()) // elements of one among those of another
      strides[random() % strides.size()] = 1 + random() % 50;
    Elements elements(std::array{DType::U8, DType::F16, DType::F32, DType::I64}[random() % 4]);
    ASSERT_EQ(elements.read(shape, strides), elements.expected(shape, strides)) << formatShape(shape) << " " << formatShape(strides);
    ASSERT_TRUE(elements.ascends);
  }
}

TEST(RowMajorReader, TurnsInStrips) {
  for (auto [rows, columns] : {std::pair(3000, 1000), {3, 1'000'000}, {1'000'000, 3}, {1'500'000, 2}}) {
    Elements elements(DType::I64);
    std::vector<int64_t> shape{rows, columns};
    ASSERT_EQ(elements.read(shape, columnMajorStrides(shape)), elements.expected(shape, columnMajorStrides(shape)));
    EXPECT_TRUE(elements.ascends);
    EXPECT_EQ(elements.total, uint64_t(rows) * columns * 8);
    EXPECT_LE(elements.max, 8u << 20);
  }
}

TEST(RowMajorReader, LeavesOutWhatIsBetween) {
  Elements narrow(DType::F32), wide(DType::F32), transposed(DType::F32), dense(DType::F32);
  EXPECT_EQ(narrow.read({4, 4}, {150'000'000, 1}), narrow.expected({4, 4}, {150'000'000, 1}));
  EXPECT_EQ(narrow.total, 64u);
  EXPECT_EQ(wide.read({100, 2000}, {3000, 1}), wide.expected({100, 2000}, {3000, 1}));
  EXPECT_EQ(wide.total, 800'000u);
  EXPECT_EQ(transposed.read({4, 4}, {1, 150'000'000}), transposed.expected({4, 4}, {1, 150'000'000}));
  EXPECT_EQ(transposed.total, 64u);
  // Short runs that lie near each other are read together.
  EXPECT_EQ(dense.read({100'000, 2}, {3, 1}), dense.expected({100'000, 2}, {3, 1}));
  EXPECT_EQ(dense.max, dense.total);
}

TEST(RowMajorReader, SaysThatMemoryIsShort) {
  RowMajorReader reader;
  TensorInfo tensor{"w", DType::I64, {1 << 30, 1 << 29}, 0, uint64_t(1) << 62};
  tensor.strides = columnMajorStrides(tensor.shape);
  auto read = [](uint64_t, llvm::MutableArrayRef<char>) { return llvm::Error::success(); };
  EXPECT_EQ(llvm::toString(reader.read(tensor, read, 0, {})), "tensor 'w' needs 4611686018427387904 bytes of memory, more than there are");
}

} // namespace
