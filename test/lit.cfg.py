# How lit runs the text tests. Programs come from build/bin, FileCheck and not from LLVM.
import os

import lit.formats

config.name = "xf"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".xf"]
config.excludes = ["models", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join([config.xf_tools, config.llvm_tools, os.environ["PATH"]])
# Variables that are set after one label are undefined after the next; names of global ones begin with $.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
