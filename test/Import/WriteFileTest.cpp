// What is written appears whole or not at all, wherever its path leads.
#include "compiler/Import/WriteFile.h"
#include "compiler/Import/Error.h"

#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include <sys/mount.h>
#include <unistd.h>

using namespace xf;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, of which several run at once, with a name that LLVM would take for a pattern.
class WriteFile : public testing::Test {
protected:
  void SetUp() override {
    fs::remove_all(folder);
    fs::create_directory(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string write(const fs::path &path, const std::string &text, bool fails = false) {
    llvm::Error error = writeFile(path.string(), /*executable=*/false, [&](llvm::raw_ostream &out) {
      out << text;
      return fails ? makeError("enough") : llvm::Error::success();
    });
    return llvm::toString(std::move(error));
  }
  static std::string read(const fs::path &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder), {}); }

  fs::path folder = fs::path(testing::TempDir()) / ("xf-100%-written-" + std::to_string(getpid()));
};

TEST_F(WriteFile, ReplacesWholeFilesOnly) {
  EXPECT_EQ(write(folder / "50%%", "old"), "");
  EXPECT_EQ(write(folder / "50%%", "ne", /*fails=*/true), "enough");
  EXPECT_EQ(read(folder / "50%%"), "old");
  EXPECT_EQ(write(folder / "50%%", "new"), "");
  EXPECT_EQ(read(folder / "50%%"), "new");
  EXPECT_EQ(write(folder / "other", "", /*fails=*/true), "enough");
  EXPECT_EQ(files(), 1);
}

TEST_F(WriteFile, TakesTheLongestNames) {
  fs::path longest = folder / std::string(255, 'x');
  for (const char *text : {"made", "replaced"}) {
    EXPECT_EQ(write(longest, text), "");
    EXPECT_EQ(read(longest), text);
  }
  EXPECT_EQ(write(longest.string() + 'x', "text"), longest.string() + "x: File name too long");
  EXPECT_EQ(files(), 1);
  fs::path before = fs::current_path(); // where a path has no folder
  fs::current_path(folder);
  EXPECT_EQ(write("here", "text"), "");
  fs::current_path(before);
  EXPECT_EQ(read(folder / "here"), "text");
}

TEST_F(WriteFile, KeepsLinks) {
  fs::create_directory(folder / "there");
  fs::create_symlink("there/file", folder / "second");
  fs::create_symlink("second", folder / "first");
  for (const char *text : {"made", "replaced"}) {
    EXPECT_EQ(write(folder / "first", text), "");
    EXPECT_EQ(read(folder / "there" / "file"), text);
  }
  EXPECT_TRUE(fs::is_symlink(folder / "first") && fs::is_symlink(folder / "second") && !fs::is_symlink(folder / "there" / "file"));
  fs::create_symlink("round", folder / "round");
  EXPECT_EQ(write(folder / "round", "text"), (folder / "round").string() + ": Too many levels of symbolic links");
}

TEST_F(WriteFile, NamesTheDeviceThatIsFull) {
  for (bool fails : {false, true})
    EXPECT_EQ(write("/dev/full", "text", fails), "/dev/full: No space left on device");
}

TEST_F(WriteFile, RefusesFolders) {
  EXPECT_EQ(write(folder, "text"), folder.string() + ": is a folder");
  EXPECT_EQ(write(folder / "none" / "file", "text"), (folder / "none" / "file").string() + ": No such file or directory");
}

TEST_F(WriteFile, SaysBeforeWhatCannotBeWritten) {
  auto check = [](const fs::path &path) { return llvm::toString(checkWritable(path.string())); };
  EXPECT_EQ(check(folder), folder.string() + ": is a folder");
  EXPECT_EQ(check(folder / "none" / "file"), (folder / "none" / "file").string() + ": No such file or directory");
  fs::create_symlink("none/file", folder / "link");
  EXPECT_EQ(check(folder / "link"), (folder / "link").string() + ": No such file or directory");
  EXPECT_EQ(check(folder / "new") + check("new") + check("/dev/null"), "");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  if (access(folder.c_str(), W_OK) != 0) // root may write everywhere
    EXPECT_EQ(check(folder / "new"), (folder / "new").string() + ": Permission denied");
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_F(WriteFile, WritesWhatIsMounted) {
  EXPECT_EQ(write(folder / "place", "old") + write(folder / "mounted", "old"), "");
  if (mount((folder / "mounted").c_str(), (folder / "place").c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(write(folder / "place", "new"), "");
  EXPECT_EQ(read(folder / "mounted"), "new");
  EXPECT_EQ(umount((folder / "place").c_str()), 0);
  EXPECT_EQ(files(), 2);
}

TEST_F(WriteFile, TemporaryFilesAreDistinctAndGo) {
  {
    std::error_code code;
    TemporaryFile first((folder / "a").string(), ".b", code), second((folder / "a").string(), ".b", code);
    ASSERT_FALSE(code);
    EXPECT_EQ(files(), 2);
    EXPECT_EQ(fs::path(first.path()).parent_path(), folder);
    EXPECT_EQ(fs::path(first.path()).extension(), ".b");
    EXPECT_FALSE(second.keep((folder / "kept").string()));
  }
  EXPECT_EQ(files(), 1);
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

} // namespace
