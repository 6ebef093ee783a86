// Reading of zip archives.
#include "compiler/Import/ZipArchive.h"

#include "compiler/Import/Error.h"

#include <zip.h>

using namespace xf;

void ZipArchive::Close::operator()(zip *archive) const { zip_discard(archive); }
void ZipArchive::Close::operator()(zip_file *file) const { zip_fclose(file); }

namespace {
/// An error of libzip, and its own text for it.
struct ZipError {
  zip_error_t value;
  ZipError() { zip_error_init(&value); }
  ~ZipError() { zip_error_fini(&value); }
  std::string text() { return zip_error_strerror(&value); }
};
} // namespace

llvm::Expected<std::unique_ptr<ZipArchive>> ZipArchive::open(llvm::StringRef path) {
  ZipError error;
  zip_source_t *source = zip_source_file_create(path.str().c_str(), 0, 0, &error.value);
  if (!source)
    return makeError("{}: {}", path.str(), error.text());
  return open(path, source);
}

llvm::Expected<std::unique_ptr<ZipArchive>> ZipArchive::parse(llvm::StringRef path, llvm::ArrayRef<char> bytes) {
  ZipError error;
  zip_source_t *source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.value);
  if (!source)
    return makeError("{}: {}", path.str(), error.text());
  return open(path, source);
}

llvm::Expected<std::unique_ptr<ZipArchive>> ZipArchive::open(llvm::StringRef path, zip_source *source) {
  ZipError error;
  std::unique_ptr<ZipArchive> result(new ZipArchive);
  result->path = path.str();
  result->archive.reset(zip_open_from_source(source, ZIP_RDONLY, &error.value));
  if (!result->archive) {
    zip_source_free(source);
    return makeError("{}: cannot be read as a zip archive: {} (is it cut short?)", path.str(), error.text());
  }
  if (llvm::Error problem = result->list())
    return problem;
  return result;
}

llvm::Error ZipArchive::list() {
  for (zip_int64_t i = 0, count = zip_get_num_entries(archive.get(), 0); i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(archive.get(), i, 0, &info) != 0)
      return makeError("{}: {}", path, zip_strerror(archive.get()));
    if (!(info.valid & ZIP_STAT_NAME) || !(info.valid & ZIP_STAT_SIZE))
      return makeError("{}: member {} has no name or no size", path, i);
    members.push_back({info.name, info.size});
  }
  return llvm::Error::success();
}

llvm::Expected<size_t> ZipArchive::readSome(char *out, size_t size) {
  zip_int64_t got = zip_fread(file.get(), out, size);
  if (got < 0)
    return makeError("{}: member '{}': {}", path, members[current].name, zip_file_strerror(file.get()));
  position += got;
  return got;
}

llvm::Error ZipArchive::seek(size_t member, uint64_t offset) {
  if (!file || current != member || position > offset) {
    file.reset(zip_fopen_index(archive.get(), member, 0));
    if (!file)
      return makeError("{}: member '{}': {}", path, members[member].name, zip_strerror(archive.get()));
    current = member;
    position = 0;
  }
  std::vector<char> skipped(std::min<uint64_t>(offset - position, 1 << 16));
  while (position < offset) {
    auto got = readSome(skipped.data(), std::min<uint64_t>(offset - position, skipped.size()));
    if (!got)
      return got.takeError();
    if (*got == 0)
      break;
  }
  return llvm::Error::success();
}

llvm::Error ZipArchive::read(size_t member, uint64_t first, llvm::MutableArrayRef<char> out) {
  std::lock_guard lock(mutex);
  if (llvm::Error error = seek(member, first))
    return error;
  uint64_t end = first + out.size();
  while (position < end) {
    auto got = readSome(out.data() + (position - first), end - position);
    if (!got)
      return got.takeError();
    if (*got == 0)
      return makeError("{}: member '{}' ends behind {} of {} bytes", path, members[member].name, position, members[member].size);
  }
  if (end < members[member].size)
    return llvm::Error::success();
  // libzip compares the checksum when it finds the end.
  char extra;
  auto got = readSome(&extra, 1);
  if (!got)
    return got.takeError();
  if (*got != 0)
    return makeError("{}: member '{}' has more than {} bytes", path, members[member].name, members[member].size);
  return llvm::Error::success();
}
