// Zip archives, read by libzip: members in pieces, in order, so that no member is in memory as a whole.
#ifndef XF_COMPILER_IMPORT_ZIPARCHIVE_H
#define XF_COMPILER_IMPORT_ZIPARCHIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

// libzip's.
struct zip;
struct zip_file;
struct zip_source;

namespace xf {

/// A member, as the archive's directory describes it.
struct ZipMember {
  std::string name;
  uint64_t size;
};

class ZipArchive {
public:
  static llvm::Expected<std::unique_ptr<ZipArchive>> open(llvm::StringRef path);
  /// Reads from memory that outlives the result; `path` is what messages call it.
  static llvm::Expected<std::unique_ptr<ZipArchive>> parse(llvm::StringRef path, llvm::ArrayRef<char> bytes);

  llvm::StringRef getPath() const { return path; }
  llvm::ArrayRef<ZipMember> getMembers() const { return members; }
  /// Bytes [first, first + out.size()) of a member, read from where the last call ended if that is before them. A read up to the
  /// member's end is an error if its checksum is wrong. May be called from several threads.
  llvm::Error read(size_t member, uint64_t first, llvm::MutableArrayRef<char> out);

private:
  struct Close {
    void operator()(zip *archive) const;
    void operator()(zip_file *file) const;
  };
  static llvm::Expected<std::unique_ptr<ZipArchive>> open(llvm::StringRef path, zip_source *source);
  ZipArchive() = default;
  llvm::Error list();
  llvm::Error seek(size_t member, uint64_t offset);
  /// Reads at most `size` bytes, and returns how many there were.
  llvm::Expected<size_t> readSome(char *out, size_t size);

  std::string path;
  std::unique_ptr<zip, Close> archive;
  std::vector<ZipMember> members;
  std::mutex mutex;
  std::unique_ptr<zip_file, Close> file; // of the member read last, and the position in it
  size_t current = 0;
  uint64_t position = 0;
};

} // namespace xf

#endif // XF_COMPILER_IMPORT_ZIPARCHIVE_H
