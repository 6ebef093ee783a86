// Libraries with the sample model attached, and what compiled files need of the machine.
#include "runtime/include/xf/xf.h"
#include "test/runtime/runner_harness.h"
#include "test/runtime/sample_model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using sample::ran;
using sample::shell;
using sample::temporary;

TEST(library, opens_the_model_attached_to_itself) {
  std::string path = temporary("library.so");
  sample::write_file(path, sample::attach(sample::read_file(XF_RUNTIME_SO), sample::build({})), 0755);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto open_self = reinterpret_cast<decltype(&xf_open_self)>(dlsym(library, "xf_open_self"));
  auto name = reinterpret_cast<decltype(&xf_model_name)>(dlsym(library, "xf_model_name"));
  auto message = reinterpret_cast<decltype(&xf_message)>(dlsym(library, "xf_message"));
  auto create = reinterpret_cast<decltype(&xf_session_create)>(dlsym(library, "xf_session_create"));
  auto process = reinterpret_cast<decltype(&xf_process_lines)>(dlsym(library, "xf_process_lines"));
  auto text = reinterpret_cast<decltype(&xf_line_text)>(dlsym(library, "xf_line_text"));
  auto problem = reinterpret_cast<decltype(&xf_line_error)>(dlsym(library, "xf_line_error"));
  auto free_lines = reinterpret_cast<decltype(&xf_lines_free)>(dlsym(library, "xf_lines_free"));
  auto free_session = reinterpret_cast<decltype(&xf_session_free)>(dlsym(library, "xf_session_free"));
  auto free_model = reinterpret_cast<decltype(&xf_model_free)>(dlsym(library, "xf_model_free"));
  ASSERT_TRUE(open_self && name && create && process && text && problem);
  xf_model *model = nullptr;
  ASSERT_EQ(open_self(&model), XF_OK) << message();
  EXPECT_STREQ(name(model), "sample");
  xf_session *session = nullptr;
  ASSERT_EQ(create(model, nullptr, &session), XF_OK) << message();
  free_model(model); // the session keeps what it needs
  const char *lines[] = {"a b", ""};
  xf_lines *results = nullptr;
  ASSERT_EQ(process(session, lines, 2, 0, nullptr, &results), XF_OK) << message();
  EXPECT_NE(text(results, 0, 0), nullptr);
  EXPECT_EQ(text(results, 1, 0), nullptr);
  EXPECT_STREQ(problem(results, 1), "it is empty");
  free_lines(results);
  free_session(session);
#ifndef XF_SANITIZED // the C++ library inside never gives back what it keeps for exceptions
  dlclose(library);
#endif
  unlink(path.c_str());
}

TEST(library, opens_itself_in_a_folder_with_a_newline) {
  std::string folder = temporary("new\nline"), path = folder + "/library.so";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  sample::write_file(path, sample::attach(sample::read_file(XF_RUNTIME_SO), sample::build({})), 0755);
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto open_self = reinterpret_cast<decltype(&xf_open_self)>(dlsym(library, "xf_open_self"));
  auto message = reinterpret_cast<decltype(&xf_message)>(dlsym(library, "xf_message"));
  auto free_model = reinterpret_cast<decltype(&xf_model_free)>(dlsym(library, "xf_model_free"));
  ASSERT_TRUE(open_self && message && free_model);
  xf_model *model = nullptr;
  EXPECT_EQ(open_self(&model), XF_OK) << message();
  free_model(model);
  unlink(path.c_str());
  rmdir(folder.c_str());
}

#ifndef XF_SANITIZED
// The compiled files need libc, libm and the dynamic linker that come with it, of this version or newer.
TEST(artefacts, need_nothing_but_the_c_library) {
  for (const char *file : {XF_RUNNER, XF_RUNTIME_SO}) {
    ran needed = shell(std::string("readelf -dW ") + file + " | grep NEEDED | sed 's/.*\\[//; s/\\]//' | sort -u");
    EXPECT_NE(needed.out.find("libc.so.6\n"), std::string::npos) << needed.out;
    for (size_t at = 0; at < needed.out.size();) {
      std::string name = needed.out.substr(at, needed.out.find('\n', at) - at);
      at += name.size() + 1;
      EXPECT_TRUE(name == "libc.so.6" || name == "libm.so.6" || name == "libpthread.so.0" || name == "libdl.so.2" || name == "ld-linux-x86-64.so.2")
          << name;
    }
    ran versions = shell(std::string("readelf -VW ") + file + " | grep -o 'GLIBC_2[.][0-9]*' | sort -uV | tail -n 1");
    const std::string prefix = "GLIBC_2.";
    ASSERT_EQ(versions.out.rfind(prefix, 0), 0u) << versions.out;
    EXPECT_LE(std::atoi(versions.out.c_str() + prefix.size()), 35) << versions.out;
  }
}
#endif

} // namespace
