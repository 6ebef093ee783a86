// The linker: lays objects' sections one behind the other and resolves the references between those of each. The result runs
// wherever it is mapped, so only references relative to their own place are allowed.
#include "compiler/Target/CPU/Object.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::object;

namespace xf::cpu {

namespace {
using Elf = ELF64LEObjectFile;

/// Links one object behind the others.
class Linker {
public:
  Linker(const Elf &object, Code &code) : object(object), code(code) {}

  Error run() {
    for (const ELFSectionRef section : object.sections())
      if (Error error = layOut(section))
        return error;
    for (const ELFSectionRef section : object.sections())
      if (Error error = relocate(section))
        return error;
    return collectSymbols();
  }

private:
  Error layOut(const ELFSectionRef &section);
  Error relocate(const ELFSectionRef &section);
  Error resolve(const ELFRelocationRef &relocation, uint64_t sectionStart);
  Error collectSymbols();
  /// Where a symbol was placed.
  Expected<uint64_t> address(const ELFSymbolRef &symbol);

  static Error fail(const Twine &message) { return createStringError(message); }

  const Elf &object;
  Code &code;
  DenseMap<uint64_t, uint64_t> starts; // offset of each placed section, by its index
};

Error Linker::layOut(const ELFSectionRef &section) {
  if (!(section.getFlags() & ELF::SHF_ALLOC) || section.getSize() == 0)
    return Error::success();
  Expected<StringRef> name = section.getName();
  if (!name)
    return name.takeError();
  if (*name == ".eh_frame" || section.getType() == ELF::SHT_NOTE)
    return Error::success(); // nothing unwinds generated code
  if ((section.getFlags() & ELF::SHF_WRITE) && !name->starts_with(".data.rel.ro"))
    return fail("generated code has writable data in " + *name);
  Expected<StringRef> contents = section.getContents();
  if (!contents)
    return contents.takeError();
  uint64_t start = alignTo(code.bytes.size(), std::max<uint64_t>(section.getAlignment().value(), 64));
  code.bytes.resize(start, 0);
  code.bytes.append(contents->begin(), contents->end());
  starts[section.getIndex()] = start;
  return Error::success();
}

Expected<uint64_t> Linker::address(const ELFSymbolRef &symbol) {
  Expected<StringRef> name = symbol.getName();
  if (!name)
    return name.takeError();
  Expected<section_iterator> section = symbol.getSection();
  if (!section)
    return section.takeError();
  if (*section == object.section_end())
    return fail("generated code needs '" + *name + "', which nothing defines");
  auto start = starts.find((*section)->getIndex());
  if (start == starts.end())
    return fail("generated code refers to '" + *name + "', which is in no section that is kept");
  Expected<uint64_t> value = symbol.getValue();
  if (!value)
    return value.takeError();
  return start->second + *value;
}

Error Linker::relocate(const ELFSectionRef &section) {
  Expected<section_iterator> target = section.getRelocatedSection();
  if (!target)
    return target.takeError();
  if (*target == object.section_end())
    return Error::success();
  auto start = starts.find((*target)->getIndex());
  if (start == starts.end())
    return Error::success();
  for (const ELFRelocationRef relocation : section.relocations())
    if (Error error = resolve(relocation, start->second))
      return error;
  return Error::success();
}

Error Linker::resolve(const ELFRelocationRef &relocation, uint64_t sectionStart) {
  uint64_t place = sectionStart + relocation.getOffset();
  Expected<uint64_t> symbol = address(*relocation.getSymbol());
  if (!symbol)
    return symbol.takeError();
  Expected<int64_t> addend = relocation.getAddend();
  if (!addend)
    return addend.takeError();
  int64_t value = static_cast<int64_t>(*symbol + *addend - place);
  char *bytes = code.bytes.data() + place;
  switch (relocation.getType()) {
  case ELF::R_X86_64_PC32:
  case ELF::R_X86_64_PLT32:
    if (!isInt<32>(value))
      return fail("generated code is larger than 2 GiB");
    support::endian::write32le(bytes, static_cast<uint32_t>(value));
    return Error::success();
  case ELF::R_X86_64_PC64:
    support::endian::write64le(bytes, static_cast<uint64_t>(value));
    return Error::success();
  default:
    return fail("generated code depends on where it is loaded: relocation " + getELFRelocationTypeName(ELF::EM_X86_64, relocation.getType()));
  }
}

Error Linker::collectSymbols() {
  for (const ELFSymbolRef symbol : object.symbols()) {
    if (symbol.getELFType() != ELF::STT_FUNC)
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    Expected<uint64_t> offset = address(symbol);
    if (!offset)
      return offset.takeError();
    code.symbols[*name] = *offset;
  }
  return Error::success();
}
} // namespace

mlir::FailureOr<Code> linkObjects(ArrayRef<Object> objects, std::string &error) {
  Code code;
  for (const Object &object : objects) {
    Expected<std::unique_ptr<ObjectFile>> file = ObjectFile::createELFObjectFile(object->getMemBufferRef());
    if (!file) {
      error = toString(file.takeError());
      return mlir::failure();
    }
    auto *elf = dyn_cast<Elf>(file->get());
    if (!elf || elf->getELFFile().getHeader().e_machine != ELF::EM_X86_64) {
      error = "not an x86-64 ELF object";
      return mlir::failure();
    }
    if (Error failed = Linker(*elf, code).run()) {
      error = toString(std::move(failed));
      return mlir::failure();
    }
  }
  return code;
}

} // namespace xf::cpu
