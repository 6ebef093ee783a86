// What the tests of compiled files share: temporary names, and shell commands.
#ifndef TEST_RUNTIME_RUNNER_HARNESS_H
#define TEST_RUNTIME_RUNNER_HARNESS_H

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

namespace sample {

inline std::string temporary(const std::string &name) { return testing::TempDir() + "xf-runner-" + std::to_string(getpid()) + "-" + name; }

struct ran {
  std::string out;
  int status;
};

// Runs a shell command; `out` is its standard output and standard error.
inline ran shell(const std::string &command) {
  ran result;
  FILE *pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  char chunk[4096];
  while (size_t n = std::fread(chunk, 1, sizeof(chunk), pipe))
    result.out.append(chunk, n);
  int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  return result;
}

} // namespace sample

#endif
