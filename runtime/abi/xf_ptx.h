/*
 * Instructions in an image's PTX that only later GPUs have stand behind a mark that makes comments of them. A runtime that finds such a GPU
 * blanks the marks and raises version and target to texts of the same length (with_marked() in runtime/device/cuda); for earlier GPUs they
 * stay comments.
 */
#ifndef XF_PTX_H
#define XF_PTX_H

/* What the text says of itself at its beginning: */
#define XF_PTX_VERSION "7.0"
#define XF_PTX_TARGET "sm_80"

/* What is marked: launches that start before the preceding ones have ended, from compute capability 9.0 on. */
#define XF_PTX_MARK "//@sm_90 "
#define XF_PTX_MARKED_CAPABILITY 90
#define XF_PTX_MARKED_VERSION "7.8"
#define XF_PTX_MARKED_TARGET "sm_90"

#endif
