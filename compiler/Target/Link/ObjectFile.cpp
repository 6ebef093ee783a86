// The object's layout: the ELF header, padding up to a page, the image, its size, symbols, names, section headers.
//
// The image is one section of large read-only data, which linkers put behind everything else: weights of gigabytes then
// keep no other symbol out of reach. It is read where it lies; the runtime copies the code alone, to make it executable.
#include "compiler/Target/Link/ObjectFile.h"
#include "dialect/IR/ModuleRoles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include <fmt/format.h>

using namespace llvm::ELF;
using namespace mlir::xf;

namespace xf {
namespace {

/// A string table, from 0 on an empty name.
class Names {
public:
  uint32_t add(llvm::StringRef name) {
    uint32_t at = text.size();
    text += name;
    text += '\0';
    return at;
  }
  std::string text = std::string(1, '\0');
};

template <typename T>
void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

enum Section : uint16_t { none, image, size, symbols, symbolNames, stackNote, sectionNames, count };

Elf64_Sym symbol(uint32_t name, unsigned char binding, unsigned char type, Section section, uint64_t value, uint64_t bytes) {
  Elf64_Sym s{};
  s.st_name = name;
  s.setBindingAndType(binding, type);
  s.st_shndx = section;
  s.st_value = value;
  s.st_size = bytes;
  return s;
}

/// Writes what stands around the image.
class ObjectWriter {
public:
  explicit ObjectWriter(uint64_t imageSize) : imageSize(imageSize) {}

  ObjectFrame run(llvm::StringRef name, const cpu::Code &code, uint64_t codeOffset) {
    describeImage();
    begin(size, ".rodata.xf", SHT_PROGBITS, SHF_ALLOC, 8).sh_size = sizeof(uint64_t);
    append(after, imageSize);
    addSymbols(name, code, codeOffset);
    begin(symbolNames, ".strtab", SHT_STRTAB, 0, 1).sh_size = names.text.size();
    after += names.text;
    begin(stackNote, ".note.GNU-stack", SHT_PROGBITS, 0, 1); // no executable stack
    Elf64_Shdr &titles = begin(sectionNames, ".shstrtab", SHT_STRTAB, 0, 1);
    titles.sh_size = sections.text.size();
    after += sections.text;
    ObjectFrame frame;
    append(frame.before, addSectionHeaders());
    frame.before.resize(XF_ABI_PAGE);
    frame.after = std::move(after);
    return frame;
  }

private:
  void padTo(uint64_t alignment) { after.resize(llvm::alignTo(imageSize + after.size(), alignment) - imageSize); }
  /// The offset in the file of what is appended next.
  uint64_t offset() const { return XF_ABI_PAGE + imageSize + after.size(); }

  Elf64_Shdr &declare(Section section, const char *title, uint32_t type, uint64_t flags, uint64_t alignment) {
    Elf64_Shdr &header = headers[section];
    header.sh_name = sections.add(title);
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addralign = alignment;
    return header;
  }

  /// The section is what is appended from now on.
  Elf64_Shdr &begin(Section section, const char *title, uint32_t type, uint64_t flags, uint64_t alignment) {
    padTo(alignment);
    Elf64_Shdr &header = declare(section, title, type, flags, alignment);
    header.sh_offset = offset();
    return header;
  }

  void describeImage() {
    Elf64_Shdr &data = declare(image, ".lrodata.xf", SHT_PROGBITS, SHF_ALLOC | SHF_X86_64_LARGE, XF_ABI_PAGE);
    data.sh_offset = XF_ABI_PAGE;
    data.sh_size = imageSize;
  }

  /// The code's functions, then what programs link with.
  void addSymbols(llvm::StringRef name, const cpu::Code &code, uint64_t codeOffset) {
    Elf64_Shdr &table = begin(symbols, ".symtab", SHT_SYMTAB, 0, 8);
    table.sh_entsize = sizeof(Elf64_Sym);
    table.sh_link = symbolNames;
    append(after, Elf64_Sym{});
    std::vector<std::pair<uint64_t, llvm::StringRef>> functions;
    for (auto &function : code.symbols)
      functions.push_back({function.getValue(), function.getKey()});
    llvm::sort(functions);
    for (auto [offset, function] : functions)
      append(after, symbol(names.add(function), STB_LOCAL, STT_NOTYPE, image, codeOffset + offset, 0));
    table.sh_info = functions.size() + 1; // the first symbol that is not local
    append(after, symbol(names.add((name + "_image").str()), STB_GLOBAL, STT_OBJECT, image, 0, imageSize));
    append(after, symbol(names.add((name + "_image_size").str()), STB_GLOBAL, STT_OBJECT, size, 0, sizeof(uint64_t)));
    table.sh_size = (functions.size() + 3) * sizeof(Elf64_Sym);
  }

  /// Returns the file's header, which says where they are.
  Elf64_Ehdr addSectionHeaders() {
    padTo(8);
    Elf64_Ehdr header{};
    header.e_shoff = offset();
    for (const Elf64_Shdr &section : headers)
      append(after, section);
    memcpy(header.e_ident, ElfMagic, 4);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = Section::count;
    header.e_shstrndx = sectionNames;
    return header;
  }

  uint64_t imageSize;
  std::string after; // the image
  Elf64_Shdr headers[Section::count] = {};
  Names sections, names;
};

} // namespace

ObjectFrame frameObject(llvm::StringRef name, uint64_t imageSize, const cpu::Code &code, uint64_t codeOffset) {
  return ObjectWriter(imageSize).run(name, code, codeOffset);
}

std::string modelIdentifier(mlir::ModuleOp module) {
  std::string identifier;
  for (char c : modelName(module))
    identifier += llvm::isAlnum(c) ? c : '_';
  return identifier.empty() || llvm::isDigit(identifier.front()) ? "model_" + identifier : identifier;
}

/// "src: i32[B, S]", as a comment names a tensor.
static std::string describe(llvm::StringRef name, mlir::Type type) {
  auto tensor = llvm::cast<mlir::RankedTensorType>(type);
  mlir::Type element = tensor.getElementType();
  const char *dtype = element.isF32() ? "f32" : element.isInteger(1) ? "bool" : "i32";
  return fmt::format("{}: {}{}", name.str(), dtype, describeShape(tensor));
}

std::string writeHeader(mlir::ModuleOp module, bool library) {
  std::string name = modelIdentifier(module);
  std::string text = fmt::format("/* The model {0}, compiled by xfc. Link {1}\n *\n", name,
                                 library ? "the library beside this file." : "the object beside this file and xf's runtime.");
  text += " * Entries for xf_run:\n";
  llvm::StringSet<> mentioned; // dimensions
  for (auto entry : module.getOps<EntryOp>()) {
    if (entry.getKind() != EntryKind::full)
      continue;
    std::vector<std::string> inputs, outputs;
    for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
      inputs.push_back(describe(entry.getArgName(i), type));
    for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
      outputs.push_back(describe(entry.getResultName(i), type));
    for (mlir::Type type : llvm::concat<const mlir::Type>(entry.getArgumentTypes(), entry.getResultTypes()))
      for (llvm::StringRef dim : getDimNames(llvm::cast<mlir::RankedTensorType>(type)))
        mentioned.insert(dim);
    text += fmt::format(" *   {}({}) -> {}\n", entry.getSymName().str(), fmt::join(inputs, ", "), fmt::join(outputs, ", "));
  }
  if (auto bounds = module->getAttrOfType<mlir::DictionaryAttr>(kBoundsAttr)) {
    ModuleRoles generate(module, kGenerateAttr);
    std::vector<std::string> list;
    for (auto bound : bounds) {
      if (!mentioned.contains(bound.getName())) // the compiler's own, of the step and of packed sentences
        continue;
      list.push_back(fmt::format("{} {}", bound.getName().str(), llvm::cast<mlir::IntegerAttr>(bound.getValue()).getInt()));
      if (bound.getName() == generate.name("batch") && generate.beams() > 1)
        list.back() += fmt::format(" (sentences of {} beams: {})", generate.beams(), *generate.bound("batch") / generate.beams());
    }
    text += fmt::format(" * Largest sizes: {}.\n", fmt::join(list, ", "));
  }
  text += fmt::format(" */\n#ifndef XF_MODEL_{0}_H\n#define XF_MODEL_{0}_H\n\n#include \"xf/xf.h\"\n\n"
                      "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n",
                      name);
  if (!library)
    text += fmt::format("extern const unsigned char {0}_image[];\nextern const uint64_t {0}_image_size;\n\n", name);
  text += fmt::format("/* Opens the model; xf_model_free frees it. */\n"
                      "static inline xf_status {0}_open(xf_model **model) {{ return {1}; }}\n\n",
                      name,
                      library ? fmt::format("xf_open_linked(\"{}\", model)", modelName(module).str())
                              : fmt::format("xf_open_memory({0}_image, {0}_image_size, model)", name));
  return text + "#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

} // namespace xf
