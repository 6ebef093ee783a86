# Writes OUTPUT, a C++ file with the texts of the descriptions in FOLDER.
file(GLOB files "${FOLDER}/*.xf")
set(content "#include \"compiler/Frontend/LibraryFiles.h\"\n\nllvm::ArrayRef<xf::frontend::LibraryFile> xf::frontend::libraryFiles() {\n  static const LibraryFile files[] = {\n")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND content "{\"${name}\", R\"xf-text(${text})xf-text\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${content}  };\n  return files;\n}\n")
