// The main of every compiled program: the model is attached to the program's own file.
#include "runtime/core/cpu.h"
#include "runtime/core/error.h"
#include "runtime/core/mapping.h"
#include "runtime/runner/filter.h"
#include "runtime/runner/options.h"
#include "runtime/runner/output.h"
#include "runtime/text/shortlist_file.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

using namespace xf::rt;

namespace {

int run(const char *program, int argc, char **argv) {
  std::shared_ptr<const model> m = open_model(file_of_address(reinterpret_cast<const void *>(&run)));
  run_options options;
  try {
    parse_options(argc, argv, *m, options);
  } catch (const error &problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return 2;
  }
  output out;
  if (options.help || options.version || options.limits) {
    if (options.help)
      out.write(help_text(program, *m));
    else if (options.version)
      out.write(m->name() + ", compiled with xfc " XF_VERSION_TEXT "\n");
    else
      out.write(limits_text(*m, options.session.threads ? options.session.threads : available_cpus()));
    out.close();
    return 0;
  }
  std::unique_ptr<const shortlist> allowed;
  if (!options.shortlist.empty())
    allowed = read_shortlist(*m, options.shortlist, options.ids);
  options.search.allowed = allowed.get();
  session s(m, options.session);
  return run_filter(program, s, options) ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  // A closed pipe and the limit of a file's size are then errors of write() like any other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  const char *slash = argc > 0 ? std::strrchr(argv[0], '/') : nullptr;
  const char *program = slash ? slash + 1 : argc > 0 ? argv[0] : "program";
  try {
    return run(program, argc, argv);
  } catch (const error &problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return problem.code == status::invalid_argument || problem.code == status::limit ? 2 : 1;
  } catch (const std::bad_alloc &) {
    std::fprintf(stderr, "%s: out of memory\n", program);
    return 1;
  } catch (const std::exception &problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return 1;
  }
}
