// Descriptions of test/models in the interpreter, with data from the repository or from a developer's shared folder.
#ifndef XF_TEST_REFERENCE_MODELS_H
#define XF_TEST_REFERENCE_MODELS_H

#include "compiler/Frontend/Frontend.h"
#include "compiler/Import/Checkpoint.h"
#include "compiler/Reference/ReferenceEngine.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace xf {

/// The file `name` of a model: beside its description, else in the shared folder; empty if it is nowhere.
inline std::string findData(const std::string &model, const std::string &shared, const std::string &name) {
  const char *root = std::getenv("XF_SHARED");
  for (const std::string &path : {std::string(XF_SOURCE_DIR) + "/test/models/" + model + "/" + name,
                                  (root ? root : std::string(XF_SOURCE_DIR) + "/../shared") + "/" + shared + "/" + name})
    if (llvm::sys::fs::exists(path))
      return path;
  return "";
}

inline std::string readText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// A compiled description with its checkpoint.
struct LoadedModel {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Checkpoint> checkpoint;

  /// Fails the test and returns false if something is wrong with the description or the weights.
  bool load(const std::string &description, const std::string &config, const std::string &weights) {
    FrontendOptions options;
    if (!config.empty())
      options.configJson = readText(config), options.configName = config;
    std::string path = std::string(XF_SOURCE_DIR) + "/test/models/" + description, messages;
    llvm::raw_string_ostream stream(messages);
    module = compileDescription(context, path, readText(path), options, stream);
    EXPECT_TRUE(module) << messages;
    if (!module)
      return false;
    auto opened = Checkpoint::open(weights, *module);
    if (!opened) {
      ADD_FAILURE() << llvm::toString(opened.takeError());
      return false;
    }
    checkpoint = std::move(*opened);
    return true;
  }
};

} // namespace xf

#endif // XF_TEST_REFERENCE_MODELS_H
