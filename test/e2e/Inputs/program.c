/* The calls that README.md shows, in a program: prints what g2p makes of a word. */
#include "g2p.h"

#include <stdio.h>

int main(void) {
  xf_model *model;
  xf_session *session;
  int32_t ids[64], tokens[64], length;
  int64_t capacity = 64, offsets[2] = {0}, count, bytes, size = 256;
  char text[256];
  xf_hypotheses results = {.size = sizeof(results), .tokens = tokens, .capacity = capacity, .lengths = &length};
  if (G2P_open(&model) || xf_session_create(model, NULL, &session))
    return 1;
#include "call-0.c"
  offsets[1] = count;
  if (xf_generate(session, ids, offsets, 1, NULL, &results))
    return 1;
#include "call-1.c"
  return puts(text) < 0;
}
