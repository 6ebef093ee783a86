// The headers that many tests of the runtime include, precompiled once.
#include "runtime/precompiled.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
