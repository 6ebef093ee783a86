/* What becomes of calls for which there is no memory, for a test. The allocator of this program fails at the n-th call, for many n: the call that
 * meets that says so, keeps nothing, and the next one is right. Prints what is wrong.
 *   no_memory MODEL DEVICE SHORTLIST */
#define _DEFAULT_SOURCE
#include <xf/xf.h>

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static atomic_long blocks, calls, failing; /* the call that fails; 0: none does; negative: all do */

static int fails(void) {
  long call = atomic_fetch_add(&calls, 1) + 1;
  return failing < 0 || call == failing;
}
static void *keep(void *block) {
  blocks += block != NULL;
  if (!block)
    errno = ENOMEM;
  return block;
}
void *malloc(size_t size) { return keep(fails() ? NULL : __libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return keep(fails() ? NULL : __libc_calloc(count, size)); }
void *realloc(void *old, size_t size) {
  void *block = fails() ? NULL : __libc_realloc(old, size);
  blocks += block && !old;
  return block;
}
void free(void *block) {
  blocks -= block != NULL;
  __libc_free(block);
}

static int open_files(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (readdir(folder))
    ++count;
  closedir(folder);
  return count;
}

static const char *path, *table;
static xf_model *model;
static xf_session *session;
static xf_session_options session_options;
static int32_t tokens[64];
static char text[64];

/* Each gives its status, and takes back what it has made. */
static xf_status open_file(void) {
  xf_model *opened = NULL;
  xf_status status = xf_open(path, &opened);
  xf_model_free(opened);
  return status;
}
static xf_status open_self(void) {
  xf_model *opened = NULL;
  return xf_open_self(&opened);
}
static xf_status open_linked(void) {
  xf_model *opened = NULL;
  return xf_open_linked("none", &opened);
}
static xf_status create(void) {
  xf_session *created = NULL;
  xf_status status = xf_session_create(model, &session_options, &created);
  xf_session_free(created);
  return status;
}
static xf_status open_shortlist(void) {
  xf_shortlist *list = NULL;
  xf_status status = xf_shortlist_open(model, table, 1, &list);
  xf_shortlist_free(list);
  return status;
}
static xf_status generate(void) {
  int32_t source[] = {5, 9, 7}, lengths[2];
  int64_t offsets[] = {0, 2, 3};
  xf_generate_options options;
  xf_generate_options_init(&options, sizeof(options));
  options.max_length = 2;
  options.scores = 0;
  xf_hypotheses results = {.size = sizeof(results), .tokens = tokens, .capacity = 2, .lengths = lengths};
  return xf_generate(session, source, offsets, 2, &options, &results);
}
static xf_status process(void) {
  const char *lines[] = {"5 9", "x", "7"};
  xf_generate_options options;
  xf_generate_options_init(&options, sizeof(options));
  options.max_length = 2;
  xf_lines *results = NULL;
  xf_status status = xf_process_lines(session, lines, 3, 1, &options, &results);
  if (status == XF_OK)
    snprintf(text, sizeof(text), "%s,%s,%s", xf_line_text(results, 0, 0), xf_line_error(results, 1), xf_line_text(results, 2, 0));
  xf_lines_free(results);
  return status;
}

/* `otherwise`: the status where there is memory. */
static void check(const char *what, xf_status (*call)(void), xf_status otherwise) {
  int32_t wanted_tokens[sizeof(tokens) / sizeof(*tokens)];
  char wanted_text[sizeof(text)];
  if (call() != otherwise || call() != otherwise)
    printf("%s: %s\n", what, xf_message());
  memcpy(wanted_tokens, tokens, sizeof(tokens));
  memcpy(wanted_text, text, sizeof(text));
  for (long n = 1;; n += 1 + n / 16) {
    long blocks_before = blocks;
    int files_before = open_files();
    calls = 0;
    failing = n;
    xf_status status = call();
    failing = 0;
    if (calls < n)
      return;
    if (status != otherwise && status != XF_OUT_OF_MEMORY && !(status == XF_IO && strstr(xf_message(), strerror(ENOMEM))))
      printf("%s, allocation %ld: status %d, %s\n", what, n, status, xf_message());
    if (open_files() != files_before)
      printf("%s, allocation %ld: %d files stay open\n", what, n, open_files() - files_before);
    memset(tokens, 0, sizeof(tokens));
    memset(text, 0, sizeof(text));
    if (call() != otherwise)
      printf("%s, after allocation %ld: %s\n", what, n, xf_message());
    if (memcmp(tokens, wanted_tokens, sizeof(tokens)) || memcmp(text, wanted_text, sizeof(text)))
      printf("%s, after allocation %ld: another answer\n", what, n);
    if (blocks > blocks_before)
      printf("%s, allocation %ld: %ld blocks are kept\n", what, n, blocks - blocks_before);
  }
}

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  path = argv[1];
  table = argv[3];
  /* A long message: the room for others is there from now on. */
  char long_name[1000];
  memset(long_name, 'a', sizeof(long_name) - 1);
  long_name[sizeof(long_name) - 1] = '\0';
  xf_open(long_name, &model);
  xf_session_options_init(&session_options, sizeof(session_options));
  session_options.threads = 2;
  session_options.device = atoi(argv[2]);
  if (xf_open(path, &model) || xf_session_create(model, &session_options, &session)) {
    printf("%s\n", xf_message());
    return 1;
  }
  check("xf_open", open_file, XF_OK);
  check("xf_open_self", open_self, XF_BAD_IMAGE); /* this library has no model */
  check("xf_open_linked", open_linked, XF_BAD_IMAGE);
  check("xf_session_create", create, XF_OK);
  check("xf_shortlist_open", open_shortlist, XF_OK);
  check("xf_generate", generate, XF_OK);
  check("xf_process_lines", process, XF_OK);
  pid_t child = fork();
  if (child == 0) {
    failing = -1;
    xf_session_free(session);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0)
    printf("xf_session_free behind a fork: status %x\n", status);
  xf_session_free(session);
  xf_model_free(model);
  return 0;
}
