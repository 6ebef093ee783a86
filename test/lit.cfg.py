# How lit runs the text tests. Programs come from build/bin, FileCheck and not from LLVM.
import os

import lit.formats

config.name = "xf"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".xf"]
config.excludes = ["models", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join([config.xf_tools, config.llvm_tools, os.environ["PATH"]])
config.substitutions.append(("%shared", config.xf_source + "/../shared"))
# Models and goldens on developers' machines; tests that need them say "REQUIRES: shared".
if os.path.isdir(config.xf_source + "/../shared/goldens"):
    config.available_features.add("shared")
