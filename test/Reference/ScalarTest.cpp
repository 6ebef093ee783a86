// Scalar ops: each against C++, in both precisions.
#include "test/Reference/Fixture.h"

using namespace xf;

namespace {

struct ScalarTest : InterpreterTest {
  /// Maps a body over pairs of floats.
  std::vector<double> floatsOf(const std::string &body, std::vector<double> a, std::vector<double> b, Precision precision = Precision::F64) {
    std::string type = "tensor<" + std::to_string(a.size()) + "xf32>";
    loadEntry("%a: " + type + " {xf.name = \"a\"}, %b: " + type + " {xf.name = \"b\"}", type + " {xf.name = \"r\"}",
              "%r = xf.map(%a, %b) maps [[0], [0]] : (" + type + ", " + type + ") -> " + type + " {\n^bb0(%x: f32, %y: f32):\n" + body +
                  "\nxf.yield %r : f32\n}\nxf.return %r : " + type);
    int64_t n = a.size();
    return run({{"a", floats({n}, a)}, {"b", floats({n}, b)}}, precision)["r"].floats;
  }
  double floatOf(const std::string &body, double a, double b = 0, Precision precision = Precision::F64) {
    auto values = floatsOf(body, {a}, {b}, precision);
    return values.empty() ? NAN : values[0];
  }
  /// A body on i64 values %x and %y, through a table so that no tensor of integers is needed.
  int64_t intOf(const std::string &body, int64_t a, int64_t b) {
    load("xf.parameter @t : tensor<1xf32> {\n^bb0(%i: index):\n%x = arith.constant " + std::to_string(a) + " : i64\n%y = arith.constant " +
         std::to_string(b) + " : i64\n" + body + "\n%value = arith.sitofp %r : i64 to f64\nxf.yield %value : f64\n}");
    float out = 0;
    if (!module)
      return 0;
    if (llvm::Error error = evaluateTable(module->lookupSymbol<mlir::xf::ParameterOp>("t"), 0, out))
      ADD_FAILURE() << llvm::toString(std::move(error));
    return static_cast<int64_t>(out);
  }
};

TEST_F(ScalarTest, UnaryMaths) {
  struct Case {
    const char *op;
    double (*want)(double);
    double x = 0.7;
  } cases[] = {{"math.exp", std::exp},
               {"math.exp2", std::exp2},
               {"math.expm1", std::expm1},
               {"math.log", std::log},
               {"math.log2", std::log2},
               {"math.log10", std::log10},
               {"math.log1p", std::log1p},
               {"math.sin", std::sin},
               {"math.cos", std::cos},
               {"math.tan", std::tan},
               {"math.tanh", std::tanh},
               {"math.sinh", std::sinh},
               {"math.cosh", std::cosh},
               {"math.erf", std::erf},
               {"math.sqrt", std::sqrt},
               {"math.atan", std::atan},
               {"math.absf", std::fabs},
               {"math.floor", std::floor},
               {"math.ceil", std::ceil},
               {"math.round", std::round},
               {"math.asin", std::asin},
               {"math.acos", std::acos},
               {"math.cbrt", std::cbrt},
               {"math.trunc", std::trunc},
               {"math.roundeven", std::nearbyint},
               {"math.asinh", std::asinh},
               {"math.atanh", std::atanh},
               {"math.acosh", std::acosh, 4}};
  for (const Case &c : cases) {
    volatile double x = c.x; // which the library computes: an optimiser's own functions round otherwise
    EXPECT_EQ(floatOf(std::string("%r = ") + c.op + " %x : f32", c.x), c.want(x)) << c.op;
  }
  EXPECT_EQ(floatOf("%r = math.rsqrt %x : f32", 4), 0.5);
  EXPECT_EQ(floatOf("%r = arith.negf %x : f32", 4), -4);
}

TEST_F(ScalarTest, BinaryMaths) {
  EXPECT_EQ(floatOf("%r = arith.addf %x, %y : f32", 1, 2), 3);
  EXPECT_EQ(floatOf("%r = arith.subf %x, %y : f32", 1, 2), -1);
  EXPECT_EQ(floatOf("%r = arith.mulf %x, %y : f32", 3, 2), 6);
  EXPECT_EQ(floatOf("%r = arith.divf %x, %y : f32", 1, 2), 0.5);
  EXPECT_EQ(floatOf("%r = arith.remf %x, %y : f32", 7, 4), 3);
  EXPECT_EQ(floatOf("%r = math.powf %x, %y : f32", 2, 0.5), std::sqrt(2.0));
  EXPECT_EQ(floatOf("%r = math.atan2 %x, %y : f32", 1, 2), std::atan2(1, 2));
  EXPECT_EQ(floatOf("%r = math.copysign %x, %y : f32", 1, -2), -1);
  EXPECT_EQ(floatOf("%r = math.fma %x, %y, %x : f32", 2, 3), 8);
  EXPECT_EQ(floatOf("%r = arith.maximumf %x, %y : f32", 1, 2), 2);
  EXPECT_TRUE(std::isnan(floatOf("%r = arith.maximumf %x, %y : f32", 1, NAN)));
  EXPECT_TRUE(std::isnan(floatOf("%r = arith.minimumf %x, %y : f32", NAN, 1)));
  EXPECT_EQ(floatOf("%r = arith.maxnumf %x, %y : f32", 1, NAN), 1);
  EXPECT_EQ(floatOf("%r = arith.minnumf %x, %y : f32", 1, -1), -1);
  EXPECT_EQ(floatOf("%n = arith.constant -3 : i32\n%r = math.fpowi %x, %n : f32, i32", 2), 0.125);
}

TEST_F(ScalarTest, ComparisonsAndSelect) {
  auto compare = [&](const char *predicate) {
    return floatsOf(std::string("%c = arith.cmpf ") + predicate + ", %x, %y : f32\n%r = arith.select %c, %x, %y : f32", {1, 2, 3}, {2, 2, 1});
  };
  EXPECT_EQ(compare("olt"), (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(compare("ogt"), (std::vector<double>{2, 2, 3}));
  EXPECT_EQ(floatOf("%c = arith.cmpf uno, %x, %y : f32\n%r = arith.uitofp %c : i1 to f32", NAN, 1), 1);
  EXPECT_EQ(floatOf("%c = arith.cmpf une, %x, %y : f32\n%r = arith.uitofp %c : i1 to f32", NAN, 1), 1);
  EXPECT_EQ(floatOf("%c = arith.cmpf one, %x, %y : f32\n%r = arith.uitofp %c : i1 to f32", NAN, 1), 0);
  EXPECT_EQ(floatOf("%c = arith.cmpf olt, %x, %y : f32\n%r = arith.sitofp %c : i1 to f32", 0, 1), -1);
}

TEST_F(ScalarTest, Integers) {
  EXPECT_EQ(intOf("%r = arith.addi %x, %y : i64", 5, -7), -2);
  EXPECT_EQ(intOf("%r = arith.muli %x, %y : i64", 5, -7), -35);
  EXPECT_EQ(intOf("%r = arith.divsi %x, %y : i64", -7, 2), -3);
  EXPECT_EQ(intOf("%r = arith.floordivsi %x, %y : i64", -7, 2), -4);
  EXPECT_EQ(intOf("%r = arith.ceildivsi %x, %y : i64", 7, 2), 4);
  EXPECT_EQ(intOf("%r = arith.remsi %x, %y : i64", -7, 2), -1);
  EXPECT_EQ(intOf("%r = arith.divsi %x, %y : i64", -7, 0), 0);
  EXPECT_EQ(intOf("%r = arith.andi %x, %y : i64", 12, 10), 8);
  EXPECT_EQ(intOf("%r = arith.xori %x, %y : i64", 12, 10), 6);
  EXPECT_EQ(intOf("%r = arith.shli %x, %y : i64", 3, 2), 12);
  EXPECT_EQ(intOf("%r = arith.shrsi %x, %y : i64", -8, 1), -4);
  EXPECT_EQ(intOf("%r = arith.maxsi %x, %y : i64", -8, 1), 1);
  EXPECT_EQ(intOf("%r = arith.minui %x, %y : i64", -8, 1), 1);
  EXPECT_EQ(intOf("%r = math.absi %x : i64", -8, 1), 8);
  EXPECT_EQ(intOf("%t = arith.trunci %x : i64 to i32\n%r = arith.extsi %t : i32 to i64", (int64_t(1) << 32) - 3, 0), -3);
  EXPECT_EQ(intOf("%t = arith.trunci %x : i64 to i32\n%r = arith.extui %t : i32 to i64", -1, 0), int64_t(1) << 32);
  EXPECT_EQ(intOf("%c = arith.cmpi ult, %x, %y : i64\n%r = arith.extui %c : i1 to i64", -1, 1), 0);
  EXPECT_EQ(intOf("%c = arith.cmpi slt, %x, %y : i64\n%r = arith.extui %c : i1 to i64", -1, 1), 1);
  EXPECT_EQ(intOf("%c = arith.cmpi slt, %x, %y : i64\n%r = arith.select %c, %y, %x : i64", -1, 1), 1);
  EXPECT_EQ(intOf("%f = arith.sitofp %x : i64 to f64\n%r = arith.fptosi %f : f64 to i64", -9, 1), -9);
}

TEST_F(ScalarTest, F32RoundsAfterEveryOp) {
  // 1 + 2^-30 is 1 in f32, and the difference is lost.
  const char *body = "%s = arith.addf %x, %y : f32\n%r = arith.subf %s, %x : f32";
  EXPECT_EQ(floatOf(body, 1, 0x1p-30, Precision::F32), 0);
  EXPECT_EQ(floatOf(body, 1, 0x1p-30, Precision::F64), 0x1p-30);
  EXPECT_EQ(floatOf("%r = math.exp %x : f32", 1, 0, Precision::F32), static_cast<float>(std::exp(1.0)));
  // f64 stays f64 in both.
  const char *wide = "%xx = arith.extf %x : f32 to f64\n%yy = arith.extf %y : f32 to f64\n%s = arith.addf %xx, %yy : f64\n"
                     "%d = arith.subf %s, %xx : f64\n%r = arith.truncf %d : f64 to f32";
  EXPECT_EQ(floatOf(wide, 1, 0x1p-30, Precision::F32), 0x1p-30);
}

TEST_F(ScalarTest, F64AnswersAsF32WhereResultsJump) {
  // T5's buckets: in f64, dividing by what f32 makes of log(16) stays below the whole numbers that f32 reaches.
  const char *quotient = "%c = arith.constant 2.77258872 : f32\n%e = arith.constant 8.0 : f32\n%l = math.log %x : f32\n"
                         "%q = arith.divf %l, %c : f32\n%v = arith.mulf %q, %e : f32\n";
  for (const char *jump : {"%r = math.floor %v : f32", "%i = arith.fptosi %v : f32 to i32\n%r = arith.sitofp %i : i32 to f32"})
    EXPECT_EQ(floatsOf(quotient + std::string(jump), {2, 4, 8}, {0, 0, 0}), (std::vector<double>{2, 4, 6})) << jump;
  EXPECT_EQ(floatOf("%t = arith.constant 0.1 : f32\n%s = arith.mulf %x, %t : f32\n%r = arith.remf %s, %t : f32", 5), std::fmod(0.5f, 0.1f));
  // What is used otherwise, too, keeps its precision there.
  EXPECT_EQ(floatOf("%s = arith.addf %x, %y : f32\n%f = math.floor %s : f32\n%r = arith.subf %s, %f : f32", 1, 0x1p-30), 0x1p-30);
}

TEST_F(ScalarTest, F64AnswersAsF32AcrossMaps) {
  const std::string type = "tensor<3xf32>";
  auto map = [&](const std::string &result, const std::string &operand, const std::string &body) {
    return "%" + result + " = xf.map(%" + operand + ") maps [[0]] : (" + type + ") -> " + type + " {\n^bb0(%x: f32):\n" + body +
           "\nxf.yield %r : f32\n}\n";
  };
  loadEntry("%a: " + type + " {xf.name = \"a\"}", type + " {xf.name = \"bucket\"}, " + type + " {xf.name = \"exact\"}",
            map("log", "a", "%r = math.log %x : f32") + map("quotient", "log", "%c = arith.constant 2.77258872 : f32\n%r = arith.divf %x, %c : f32") +
                map("value", "quotient", "%c = arith.constant 8.0 : f32\n%r = arith.mulf %x, %c : f32") +
                map("bucket", "value", "%r = math.floor %x : f32") + "xf.return %bucket, %value : " + type + ", " + type);
  auto results = run({{"a", floats({3}, {2, 4, 8})}});
  EXPECT_EQ(results["bucket"].floats, (std::vector<double>{2, 4, 6}));
  EXPECT_LT(results["exact"].floats[0], 2);
  EXPECT_EQ(results["exact"].floats[0], std::log(2.0) / 2.77258872f * 8);
}

} // namespace
