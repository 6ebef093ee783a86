/* Two models in one program, for a test: prints the bits of an encoder's results and the pronunciation of a word. */
#include "g2p.h"
#include "seed3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(xf_status status) {
  if (status != XF_OK) {
    fprintf(stderr, "%s\n", xf_message());
    exit(1);
  }
}

int main(void) {
  xf_model *seed = NULL, *g2p = NULL;
  check(Seed3_open(&seed));
  check(G2P_open(&g2p));
  xf_session *session = NULL;
  check(xf_session_create(seed, NULL, &session));

  int32_t tokens[] = {5, 9, 2, 7, 4, 0};
  xf_tensor input, output;
  memset(&input, 0, sizeof(input));
  memset(&output, 0, sizeof(output));
  input.name = "src";
  input.dtype = XF_I32;
  input.rank = 2;
  input.shape[0] = 2;
  input.shape[1] = 3;
  input.data = tokens;
  check(xf_output_shapes(session, "encode", &input, 1, &output, 1));
  size_t count = (size_t)(output.shape[0] * output.shape[1] * output.shape[2]);
  output.data = malloc(count * sizeof(float));
  check(xf_run(session, "encode", &input, 1, &output, 1));
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, (float *)output.data + i, sizeof(bits));
    printf("%08x\n", bits);
  }
  free(output.data);
  xf_session_free(session);

  check(xf_session_create(g2p, NULL, &session));
  const char *line = "hello";
  xf_lines *lines = NULL;
  check(xf_process_lines(session, &line, 1, 0, NULL, &lines));
  printf("%s\n", xf_line_text(lines, 0, 0));
  xf_lines_free(lines);
  xf_session_free(session);
  xf_model_free(g2p);
  xf_model_free(seed);
  return 0;
}
