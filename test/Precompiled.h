// The headers that nearly every C++ test on the compiler includes, precompiled once, with the tests' own options.
#include "dialect/IR/Precompiled.h"

#include <gtest/gtest.h>
